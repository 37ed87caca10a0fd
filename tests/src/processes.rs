//! What is left of the processes of a run.

use std::fs;

/// The processes of a group that still do something. One that is dead and only waits to be noticed
/// by the system does nothing. Empty where the system has no `/proc`.
#[must_use]
pub fn alive_in_group(group: u32) -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let stats = processes.flatten().filter_map(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // pid (name) state parent group …; a name may hold blanks and brackets.
        let (_, behind) = stat.rsplit_once(") ")?;
        let mut fields = behind.split(' ');
        let (state, of) = (fields.next()?, fields.nth(1)?);
        (of.parse() == Ok(group) && !matches!(state, "Z" | "X")).then_some(stat)
    });
    stats.collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::alive_in_group;

    #[test]
    fn a_group_is_alive_until_its_last_process_is_dead() {
        let mut cat = Command::new("cat");
        let child = cat.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let mut child = child.expect("a process");
        let group = child.id();
        if std::path::Path::new("/proc/self").exists() {
            assert_eq!(alive_in_group(group).len(), 1);
        }
        drop(child.stdin.take());
        child.wait().expect("its input is over");
        let left = alive_in_group(group);
        assert!(left.is_empty(), "{left:?}");
    }
}
