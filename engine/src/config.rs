//! x
/// x
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("x")]
pub struct ConfigError {}
impl ConfigError {
    /// x
    pub fn code(&self) -> crate::error::Code {
        crate::error::Code::ConfigValue
    }
}
