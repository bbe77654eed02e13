//! Processor time of this process, all threads together: what a comparison
//! rests on when the machine does other things beside.

use std::time::Duration;

/// Linux counts in hundredths of a second here, whatever the kernel's own tick.
/// Source: proc(5), /proc/pid/stat; USER_HZ.
const TICK: Duration = Duration::from_millis(10);

/// User and system time so far.
pub fn cpu_time() -> std::io::Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    parse(&stat).ok_or_else(|| std::io::Error::other(format!("/proc/self/stat reads {stat:?}")))
}

/// Fields 14 and 15, utime and stime. The second field is the program's name in
/// parentheses, which may hold anything.
fn parse(stat: &str) -> Option<Duration> {
    const AFTER_NAME: usize = 3;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(14 - AFTER_NAME);
    let ticks: u32 = times.next()?.parse().ok()?;
    let system: u32 = times.next()?.parse().ok()?;
    Some(TICK * (ticks + system))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added() {
        let stat = "7 (a) b) R 1 2 3 4 5 6 7 8 9 10 150 25 0 0 20 0";

        assert_eq!(parse(stat), Some(Duration::from_millis(1750)));
    }

    #[test]
    fn work_takes_time() {
        let before = cpu_time().unwrap();
        while cpu_time().unwrap() < before + TICK {}
    }
}
