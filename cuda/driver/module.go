package driver

import (
	"fmt"
	"unsafe"

	"github.com/libcuzk/libcuzk/internal/hostmem"
)

// Module is a loaded kernel image.
type Module struct{ handle moduleHandle }

// LoadModule loads a fatbin, cubin or PTX image. It does not wait for running
// kernels, but loading a large image takes tens of milliseconds.
func (b *Bound) LoadModule(image []byte) (*Module, error) {
	// PTX is read up to a zero byte; binary images carry their own length.
	text := append(image[:len(image):len(image)], 0)
	m := &Module{}
	if err := b.fail(b.d.fn.ModuleLoadData(&m.handle, bytesOf(text)), "cuModuleLoadData", "%d bytes", len(image)); err != nil {
		return nil, err
	}
	return m, nil
}

// UnloadModule gives the image back. Nothing enqueued may still use it.
func (b *Bound) UnloadModule(m *Module) error {
	return b.fail(b.d.fn.ModuleUnload(m.handle), "cuModuleUnload", "")
}

// Function looks a kernel up by name.
func (b *Bound) Function(m *Module, name string) (Function, error) {
	var f Function
	c := append([]byte(name), 0)
	err := b.fail(b.d.fn.ModuleGetFunction(&f, m.handle, &c[0]), "cuModuleGetFunction", "%s", name)
	return f, err
}

// FunctionIn looks a kernel up in several modules; the first that has it wins.
func (b *Bound) FunctionIn(modules []*Module, name string) (Function, error) {
	for _, m := range modules {
		f, err := b.Function(m, name)
		if !Is(err, ErrorNotFound) {
			return f, err
		}
	}
	return 0, fmt.Errorf("cuda: none of %d kernel images has kernel %s", len(modules), name)
}

// FunctionAttribute reads an attribute of a kernel.
func (b *Bound) FunctionAttribute(f Function, a FuncAttribute) (int, error) {
	var v int32
	err := b.fail(b.d.fn.FuncGetAttribute(&v, a, f), "cuFuncGetAttribute", "%d", a)
	return int(v), err
}

// LoadFunction brings a kernel's code to the card, which a driver that loads
// lazily does at its first launch, and returns the local bytes of a thread.
func (b *Bound) LoadFunction(f Function, name string) (local uint64, err error) {
	if b.d.fn.FuncLoad != nil {
		err := b.fail(b.d.fn.FuncLoad(f), "cuFuncLoad", "%s", name)
		if Of(err, CauseDeviceMemory) || Lost(err) {
			return 0, err
		}
	}
	// Where there is no cuFuncLoad, or it refuses, this call loads the code.
	bytes, err := b.FunctionAttribute(f, FuncLocalBytes)
	return uint64(max(bytes, 0)), err
}

// AllowSharedBytes lets a kernel be launched with more dynamic shared memory
// than the 48 KiB that need no permission.
func (b *Bound) AllowSharedBytes(f Function, bytes int) error {
	return b.fail(b.d.fn.FuncSetAttribute(f, FuncMaxDynamicShared, int32(bytes)), "cuFuncSetAttribute", "%d shared bytes", bytes)
}

// Dim3 is the size of a grid in blocks or of a block in threads. 0 stands for 1.
type Dim3 struct{ X, Y, Z uint32 }

func (d Dim3) filled() Dim3 { return Dim3{max(d.X, 1), max(d.Y, 1), max(d.Z, 1)} }

// Launch describes one kernel launch. A kernel has exactly one parameter, a
// struct by value.
type Launch struct {
	Function    Function
	Name        string // for error messages
	Grid, Block Dim3
	SharedBytes uint32 // dynamic
	Stream      Stream
	Owner       uint64  // job; 0 is that of For
	Touches     []Range // what the kernel reads and writes, for the simulator
}

// maxArgumentBytes is what a kernel's parameters may take in all. Source: CUDA
// programming guide, "Function Parameters": 4 KiB on every architecture.
const maxArgumentBytes = 4096

// launchScratch is C memory for one launch's arguments: the driver reads
// a pointer to a pointer, which Go memory may not hold in a call. It is read
// only during cuLaunchKernel.
type launchScratch struct {
	memory    []byte
	params    *[1]unsafe.Pointer
	arguments *[maxArgumentBytes]byte
	ranges    *[maxRanges]Range
}

func newLaunchScratch() (*launchScratch, error) {
	const rangeBytes = maxRanges * int(unsafe.Sizeof(Range{}))
	const pointerBytes = 64 // one pointer, padded to keep the rest aligned
	memory, err := hostmem.Alloc(maxArgumentBytes + rangeBytes + pointerBytes)
	if err != nil {
		return nil, fmt.Errorf("cuda: memory for launch arguments: %w", err)
	}
	base := bytesOf(memory)
	// SAFETY: the three parts lie in memory, which is not freed before free.
	s := &launchScratch{
		memory:    memory,
		arguments: (*[maxArgumentBytes]byte)(base),
		ranges:    (*[maxRanges]Range)(unsafe.Add(base, maxArgumentBytes)),
		params:    (*[1]unsafe.Pointer)(unsafe.Add(base, maxArgumentBytes+rangeBytes)),
	}
	s.params[0] = base
	return s, nil
}

func (s *launchScratch) free() { hostmem.Free(s.memory) }

// Start enqueues a kernel. arguments are the bytes of its argument struct,
// copied before the call returns.
func (b *Bound) Start(l Launch, arguments []byte) error {
	if len(arguments) > maxArgumentBytes {
		return fmt.Errorf("cuda: kernel %s: %d bytes of arguments, at most %d are possible", l.Name, len(arguments), maxArgumentBytes)
	}
	copy(b.scratch.arguments[:], arguments)
	owner := l.Owner
	if owner == 0 {
		owner = b.owner
	}
	if err := b.Note(NoteLaunch, owner, l.Touches...); err != nil {
		return fmt.Errorf("kernel %s: %w", l.Name, err)
	}
	g, k := l.Grid.filled(), l.Block.filled()
	code := b.d.fn.LaunchKernel(l.Function, g.X, g.Y, g.Z, k.X, k.Y, k.Z, l.SharedBytes, l.Stream,
		unsafe.Pointer(b.scratch.params), nil)
	return b.fail(code, "cuLaunchKernel", "%s, grid %dx%dx%d, block %dx%dx%d, %d shared bytes",
		l.Name, g.X, g.Y, g.Z, k.X, k.Y, k.Z, l.SharedBytes)
}
