use cuzk_sys as sys;

use crate::error::Error;
use crate::Result;

/// Order among jobs that wait for a device. Within a priority, jobs go in order of
/// arrival; a job that has waited long gets a higher one.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// After everything else.
    Low,
    /// What most jobs have.
    #[default]
    Normal,
    /// WindowPoSt.
    High,
    /// WinningPoSt.
    Critical,
}

impl Priority {
    fn raw(self) -> i32 {
        match self {
            Self::Low => sys::CUZK_PRIORITY_LOW,
            Self::Normal => sys::CUZK_PRIORITY_NORMAL,
            Self::High => sys::CUZK_PRIORITY_HIGH,
            Self::Critical => sys::CUZK_PRIORITY_CRITICAL,
        }
    }
}

/// How to prove. The default: normal priority, any device, with self-check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProveOptions {
    priority: Priority,
    device: Option<u32>,
    skip_self_check: bool,
}

impl ProveOptions {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the priority.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Proves on one device only, by its index in [`devices`](crate::devices).
    pub fn device(mut self, index: u32) -> Self {
        self.device = Some(index);
        self
    }

    /// Returns proofs without verifying them first, which costs 2 to 3 ms. A
    /// wrong witness then gives an invalid proof instead of an error.
    pub fn skip_self_check(mut self) -> Self {
        self.skip_self_check = true;
        self
    }

    pub(crate) fn raw(&self) -> Result<sys::cuzk_prove_options> {
        let device = match self.device {
            None => sys::CUZK_DEVICE_ANY,
            Some(index) => i32::try_from(index)
                .map_err(|_| Error::NoDevice(format!("there is no device {index}")))?,
        };
        Ok(sys::cuzk_prove_options {
            struct_size: size_of::<sys::cuzk_prove_options>(),
            flags: if self.skip_self_check {
                sys::CUZK_PROVE_NO_SELF_CHECK
            } else {
                0
            },
            priority: self.priority.raw(),
            device,
            reserved: 0,
        })
    }
}

/// How to open a parameter file. By default every point is checked to be on the
/// curve, and nothing else about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SrsOptions {
    check_subgroup: bool,
}

impl SrsOptions {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Also checks that every point is in the prime-order subgroup, which takes
    /// much longer.
    pub fn check_subgroup(mut self) -> Self {
        self.check_subgroup = true;
        self
    }

    pub(crate) fn raw(&self) -> sys::cuzk_srs_options {
        sys::cuzk_srs_options {
            struct_size: size_of::<sys::cuzk_srs_options>(),
            flags: if self.check_subgroup {
                sys::CUZK_SRS_CHECK_SUBGROUP
            } else {
                0
            },
            reserved: 0,
        }
    }
}
