package main

import (
	"fmt"
	"sync"
)

// handleKind is what a handle stands for. It is part of the handle, so that a
// job's is refused where a parameter set's is expected. 0 is no kind, hence 0
// is never a handle.
type handleKind uint8

const (
	kindSRS          handleKind = iota + 1 // cuzk_srs
	kindJob                                // cuzk_job
	kindSuprasealSRS                       // the pointer inside a supraseal_srs
	kindPending                            // pending proof of the supraseal calls
)

func (k handleKind) String() string {
	switch k {
	case kindSRS:
		return "parameter set"
	case kindJob:
		return "job"
	case kindSuprasealSRS:
		return "supraseal parameter set"
	case kindPending:
		return "pending proof"
	}
	return fmt.Sprintf("unknown kind %d", uint8(k))
}

// A handle is kind (4 bits), generation of the slot (28), index of the slot
// (32), from the top.
const (
	indexBits      = 32
	generationBits = 28
	maxGeneration  = 1<<generationBits - 1
)

func makeHandle(k handleKind, generation, index uint32) uint64 {
	return uint64(k)<<(generationBits+indexBits) | uint64(generation)<<indexBits | uint64(index)
}

func splitHandle(h uint64) (k handleKind, generation, index uint32) {
	return handleKind(h >> (generationBits + indexBits)), uint32(h>>indexBits) & maxGeneration, uint32(h)
}

// handleTable gives out handles of one kind for values of type T. A slot's
// generation goes up when it is freed, so that an old handle never reaches a
// new value; a slot whose generations are used up is left empty for good.
type handleTable[T any] struct {
	kind handleKind

	mu    sync.Mutex
	slots []handleSlot[T] // guarded by mu
	free  []uint32        // guarded by mu; indices of free slots
}

type handleSlot[T any] struct {
	generation uint32
	refs       uint64 // 0: the slot is free
	value      T
}

// add stores v with one reference and returns its handle.
func (t *handleTable[T]) add(v T) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.free) == 0 {
		t.slots = append(t.slots, handleSlot[T]{})
		t.free = append(t.free, uint32(len(t.slots)-1))
	}
	last := len(t.free) - 1
	index := t.free[last]
	t.free = t.free[:last]
	slot := &t.slots[index]
	slot.refs, slot.value = 1, v
	return makeHandle(t.kind, slot.generation, index)
}

// get returns the value of h, without a reference: another thread may release
// the handle meanwhile, and the value must stand that.
func (t *handleTable[T]) get(h uint64) (T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, err := t.slotLocked(h)
	if err != nil {
		var zero T
		return zero, err
	}
	return slot.value, nil
}

// retain adds a reference.
func (t *handleTable[T]) retain(h uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, err := t.slotLocked(h)
	if err != nil {
		return err
	}
	slot.refs++
	return nil
}

// release gives a reference back. With the last one the handle ends, and the
// caller gets the value to dispose of.
func (t *handleTable[T]) release(h uint64) (value T, last bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, err := t.slotLocked(h)
	if err != nil {
		return value, false, err
	}
	slot.refs--
	if slot.refs > 0 {
		return value, false, nil
	}
	value = slot.value
	var zero T
	slot.value = zero
	if slot.generation < maxGeneration {
		slot.generation++
		_, _, index := splitHandle(h)
		t.free = append(t.free, index)
	}
	return value, true, nil
}

func (t *handleTable[T]) slotLocked(h uint64) (*handleSlot[T], error) {
	kind, generation, index := splitHandle(h)
	switch {
	case h == 0:
		return nil, refuse(errHandle, "handle of a %s expected, got 0", t.kind)
	case kind < kindSRS || kind > kindPending:
		return nil, refuse(errHandle, "handle of a %s expected, got %#x, which is no handle", t.kind, h)
	case kind != t.kind:
		return nil, refuse(errHandle, "handle of a %s expected, got %#x, which is that of a %s", t.kind, h, kind)
	case uint64(index) >= uint64(len(t.slots)):
		return nil, refuse(errHandle, "handle of a %s expected, got %#x, which was never given out", t.kind, h)
	}
	slot := &t.slots[index]
	if slot.refs == 0 || slot.generation != generation {
		return nil, refuse(errHandle, "handle %#x of a %s was released", h, t.kind)
	}
	return slot, nil
}
