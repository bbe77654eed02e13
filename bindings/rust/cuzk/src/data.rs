use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::slice;
use std::sync::Arc;

/// Read-only memory that is not copied: borrowed, or shared with other owners.
/// `from` makes it of a slice, a `Vec`, an `Arc<Vec>` or an `Arc<[T]>`. Clones
/// share the memory.
///
/// The library reads it while a job runs. Owned memory is freed when its last
/// owner is dropped; a job is an owner until it has ended.
pub struct Data<'a, T> {
    start: *const T,
    len: usize,
    /// Keeps the elements alive if they are not borrowed.
    owner: Option<Arc<dyn Any + Send + Sync>>,
    borrowed: PhantomData<&'a [T]>,
}

// SAFETY: only shared reads of the elements are possible, and the owner may be
// dropped on any thread.
unsafe impl<T: Sync> Send for Data<'_, T> {}

// SAFETY: as for Send.
unsafe impl<T: Sync> Sync for Data<'_, T> {}

impl<T> Data<'_, T> {
    /// Memory kept alive by `owner`.
    ///
    /// # Safety
    /// `start` points to `len` elements that `owner` keeps in place and
    /// unchanged for as long as it lives.
    pub(crate) unsafe fn owned_by(
        owner: Arc<dyn Any + Send + Sync>,
        start: *const T,
        len: usize,
    ) -> Self {
        Self {
            start,
            len,
            owner: Some(owner),
            borrowed: PhantomData,
        }
    }
}

impl<T> Deref for Data<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: start and len are those of a slice that is borrowed for 'a or
        // kept by the owner, which lives as long as self; neither can be
        // changed meanwhile.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T> Clone for Data<'_, T> {
    fn clone(&self) -> Self {
        Self {
            start: self.start,
            len: self.len,
            owner: self.owner.clone(),
            borrowed: PhantomData,
        }
    }
}

impl<T> Default for Data<'_, T> {
    fn default() -> Self {
        Self::from(&[] as &[T])
    }
}

/// Shows the number of elements, not their values: those are secret, and many.
impl<T> fmt::Debug for Data<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = if self.owner.is_some() {
            "owned"
        } else {
            "borrowed"
        };
        write!(f, "{} {held} elements", self.len)
    }
}

impl<'a, T> From<&'a [T]> for Data<'a, T> {
    fn from(slice: &'a [T]) -> Self {
        Self {
            start: slice.as_ptr(),
            len: slice.len(),
            owner: None,
            borrowed: PhantomData,
        }
    }
}

impl<'a, T> From<&'a Vec<T>> for Data<'a, T> {
    fn from(vec: &'a Vec<T>) -> Self {
        vec.as_slice().into()
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for Data<'a, T> {
    fn from(array: &'a [T; N]) -> Self {
        array.as_slice().into()
    }
}

// Copy and Sync leave no way to change an element through a shared reference.

impl<T: Copy + Send + Sync + 'static> From<Vec<T>> for Data<'_, T> {
    fn from(vec: Vec<T>) -> Self {
        Arc::new(vec).into()
    }
}

impl<T: Copy + Send + Sync + 'static> From<Arc<Vec<T>>> for Data<'_, T> {
    fn from(vec: Arc<Vec<T>>) -> Self {
        let (start, len) = (vec.as_ptr(), vec.len());
        // SAFETY: the vector does not change while this Arc is one of its
        // owners, so its elements stay.
        unsafe { Self::owned_by(vec, start, len) }
    }
}

impl<T: Copy + Send + Sync + 'static> From<Arc<[T]>> for Data<'_, T> {
    fn from(elements: Arc<[T]>) -> Self {
        let (start, len) = (elements.as_ptr(), elements.len());
        // SAFETY: the elements do not change while this Arc is one of their
        // owners; moving the Arc does not move them.
        unsafe { Self::owned_by(Arc::new(elements), start, len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_kept_until_the_last_clone_goes() {
        let shared = Arc::new(vec![1u64, 2, 3]);
        let data = Data::from(shared.clone());
        let clone = data.clone();
        drop(data);

        assert_eq!(clone[..], [1, 2, 3]);
        assert_eq!(clone.as_ptr(), shared.as_ptr(), "nothing is copied");
        assert_eq!(Arc::strong_count(&shared), 2);
        drop(clone);
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    #[test]
    fn every_source_gives_its_elements() {
        let vec = vec![5u64; 100];
        assert_eq!(Data::from(vec.clone())[..], vec);
        assert_eq!(Data::from(&vec)[..], vec);
        assert_eq!(Data::from(&[5u64; 100])[..], vec);
        assert_eq!(Data::from(Arc::<[u64]>::from(vec.clone()))[..], vec);
        assert!(Data::<u64>::default().is_empty());
    }
}
