// Package launch says how each kernel is launched: its geometry, its argument
// struct, and what it reads and writes. It makes no driver call: an operation
// is a list of Calls, which are enqueued in order by whoever has a stream.
//
// Scratch and tables are ranges of device memory that the caller owns; functions
// ...Bytes say how large. Every range starts at a multiple of Align.
package launch

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

// Align is what device ranges and parts of scratch are aligned to, in bytes.
const Align = 256

// Range is a piece of device memory.
type Range struct {
	Addr  uint64
	Bytes uint64
}

// Slice is the part of r from offset on, of the given length.
func (r Range) Slice(offset, bytes uint64) Range {
	if offset > r.Bytes || bytes > r.Bytes-offset {
		panic(fmt.Sprintf("BUG: launch: bytes %d to %d of a range of %d", offset, offset+bytes, r.Bytes))
	}
	return Range{r.Addr + offset, bytes}
}

// Kernel is a kernel and how it is launched.
type Kernel struct {
	Name    string // as in the image
	Image   string // file in cuda/kernels/images, without extension
	Threads uint32 // of a block
	// ArgBytes is the size of its one argument, a struct by value.
	ArgBytes uint32
	args     reflect.Type // that struct's
}

// Call is one kernel launch: GridX x GridY blocks of Kernel.Threads threads,
// no dynamic shared memory, one argument.
type Call struct {
	Kernel       *Kernel
	GridX, GridY uint32
	Args         []byte // Kernel.ArgBytes long
	// Touches is all the memory that the launch touches. What it updates in
	// place, or by atomics, it reads and writes.
	Touches []driver.Range
}

// On is the launch on a stream. The function is the kernel in that context.
func (c Call) On(stream driver.Stream, f driver.Function) driver.Launch {
	return driver.Launch{
		Function: f,
		Name:     c.Kernel.Name,
		Grid:     driver.Dim3{X: c.GridX, Y: c.GridY},
		Block:    driver.Dim3{X: c.Kernel.Threads},
		Stream:   stream,
		Touches:  c.Touches,
	}
}

// Kernels lists every kernel, in the order of declaration.
func Kernels() []*Kernel { return table }

var table []*Kernel

// declare adds a kernel whose argument struct is A.
func declare[A any](image, name string, threads uint32) *Kernel {
	args := reflect.TypeFor[A]()
	k := &Kernel{Name: name, Image: image, Threads: threads, ArgBytes: uint32(args.Size()), args: args}
	table = append(table, k)
	return k
}

// call makes a Call with a grid of at least `threads` threads in x.
func call[A any](k *Kernel, threads uint64, args A, touches ...driver.Range) Call {
	return gridCall(k, blocks(threads, uint64(k.Threads)), 1, args, touches...)
}

func gridCall[A any](k *Kernel, x, y uint32, args A, touches ...driver.Range) Call {
	if unsafe.Sizeof(args) != uintptr(k.ArgBytes) || x == 0 || y == 0 {
		panic(fmt.Sprintf("BUG: launch: %s: %d argument bytes, want %d; grid %d x %d",
			k.Name, unsafe.Sizeof(args), k.ArgBytes, x, y))
	}
	// SAFETY: A is a struct of integers and integer arrays without Go
	// pointers; the copy does not outlive this statement's view of args.
	view := unsafe.Slice((*byte)(unsafe.Pointer(&args)), unsafe.Sizeof(args))
	used := touches[:0]
	for _, r := range touches {
		if r.Bytes != 0 {
			used = append(used, r)
		}
	}
	return Call{Kernel: k, GridX: x, GridY: y, Args: append([]byte(nil), view...), Touches: used}
}

func reads(r Range, bytes uint64) driver.Range   { return r.Slice(0, bytes).touched(driver.Read) }
func writes(r Range, bytes uint64) driver.Range  { return r.Slice(0, bytes).touched(driver.Write) }
func updates(r Range, bytes uint64) driver.Range { return r.Slice(0, bytes).touched(driver.ReadWrite) }

func (r Range) touched(how driver.Access) driver.Range {
	return driver.Range{Base: driver.DevicePtr(r.Addr), Bytes: r.Bytes, Mode: how}
}

// blocks is ceil(n / per).
func blocks(n, per uint64) uint32 { return uint32((n + per - 1) / per) }

// Layout divides a range into parts, one after the other, each aligned.
type Layout struct {
	Whole Range
	Used  uint64 // bytes
}

// Take is the next part.
func (l *Layout) Take(bytes uint64) Range {
	r := l.Whole.Slice(l.Used, bytes)
	l.Used += align(bytes)
	return r
}

// anywhere is for layouts of which only the size matters.
var anywhere = Range{0, 1 << 63}

func align(bytes uint64) uint64 { return (bytes + Align - 1) / Align * Align }
