package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/cuda/internal/devcontext"
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// Options are the settings of a Provider. The zero value is usable.
type Options struct {
	// BudgetBytes is how much of a card's memory to use, our context included, and
	// all of it on a smaller card; 0 is what is free when the card is opened, less
	// a reserve of 5 %.
	BudgetBytes uint64

	// BudgetShare, if BudgetBytes is 0, is the share of all the card's memory
	// to use: above 0, at most 1. 0: no share.
	BudgetShare float64

	// HostBytes is how much host memory to pin for copies of ordinary memory
	// to the card, at least MinHostBytes; 0 is enough for 16 cores.
	HostBytes uint64

	// StagingThreads is how many goroutines copy ordinary memory to pinned
	// buffers; 0 is 7/8 of the cores, at most 16.
	StagingThreads int

	// IdleAfter is how long card memory must lie idle before other processes
	// get it; 0 is never.
	IdleAfter time.Duration

	// MemoryWait is how long a job waits for memory within the budget that
	// other processes hold, before it fails; 0 is not at all. With it the
	// budget that nothing sets is of the whole card, free now or not.
	MemoryWait time.Duration

	// HangAfter is how long the oldest work on a card may last before the card
	// counts as lost until the process ends; 0 is for ever.
	HangAfter time.Duration

	// ListScalars is how many witness values other than 0 and 1 are on the
	// card at a time; a witness with more goes in rounds. 0 lets the budget
	// decide.
	ListScalars int

	chunkBytes uint64             // in which memory is mapped; 0 is sched.ChunkBytes
	tilePoints uint32             // of h in a tile, where a set is streamed; 0 lets the plan decide
	pins       *registered.Memory // of the provider; nil: none

	// planted is called at each step of a job, for tests that let one panic; nil:
	// nothing is.
	planted func(step string)
}

// MinHostBytes is the least Options.HostBytes: the buffers for parameter files
// and rounds, and two for one core to fill by turns.
const MinHostBytes = (devcontext.LoadSlots + devcontext.TileSlots + 2) * staging.SlotBytes

const (
	// flyingSlots is how many pinned buffers may be on the bus beside those
	// being filled: 32 MiB, about 0.6 ms of copying.
	flyingSlots = 8

	// maxFillers bounds the goroutines that copy: 16 reach 46.9 GB/s on an
	// H200 host, which is what the bus takes from pageable memory.
	maxFillers = 16

	// freeCores is the share of the cores, 1/8, that no such goroutine takes:
	// whoever holds a lock, or launches, has to find one.
	freeCores = 8
)

// fillers is how many goroutines fill how many pinned buffers.
func (o Options) fillers() (threads, slots int) {
	cores := runtime.GOMAXPROCS(0)
	threads = min(cores-cores/freeCores, maxFillers)
	if o.StagingThreads > 0 {
		threads = o.StagingThreads
	}
	slots = threads + flyingSlots
	if o.HostBytes > 0 {
		slots = min(slots, int(max(o.HostBytes, MinHostBytes)/staging.SlotBytes)-devcontext.LoadSlots-devcontext.TileSlots)
	}
	return min(threads, slots-1), slots
}

// budget is what the options say in bytes for a card of so much memory; 0 if
// they say nothing.
func (o Options) budget(cardBytes uint64) uint64 {
	if o.BudgetBytes == 0 {
		return uint64(o.BudgetShare * float64(cardBytes))
	}
	return min(o.BudgetBytes, cardBytes)
}

// session is what the options say about a context.
func (o Options) session() devcontext.Options {
	threads, slots := o.fillers()
	return devcontext.Options{Host: o.pins, Planted: o.planted, HangAfter: o.HangAfter, Threads: threads, Slots: slots}
}

// limits are what the options say about plans.
func (o Options) limits() plan.Limits {
	return plan.Limits{ListScalars: o.ListScalars, TilePoints: o.tilePoints}
}

// Provider finds CUDA cards. Safe for concurrent use.
type Provider struct{ options Options }

var _ backend.Provider = (*Provider)(nil)

// NewProvider makes a provider; it looks for no driver yet.
func NewProvider(o Options) *Provider {
	o.pins = registered.NewMemory()
	return &Provider{o}
}

// Name implements backend.Provider.
func (p *Provider) Name() string { return backend.CUDA }

// Devices implements backend.Provider. It makes no context.
func (p *Provider) Devices() ([]backend.Info, error) {
	devices, images, err := p.find()
	if err != nil {
		return nil, ofKind(err)
	}
	infos := make([]backend.Info, len(devices))
	for i, dev := range devices {
		infos[i] = info(dev, images)
	}
	return infos, nil
}

// errNoCard is returned by Devices when the driver works and lists no card.
var errNoCard = sentinel.New(backend.ErrNoDevice, "cuda: the driver lists no device (is CUDA_VISIBLE_DEVICES empty?)")

func (p *Provider) find() ([]*driver.Device, *image.Set, error) {
	d, err := driver.Open()
	if err != nil {
		return nil, nil, err
	}
	devices, err := d.Devices()
	if err != nil {
		return nil, nil, err
	}
	if len(devices) == 0 {
		return nil, nil, errNoCard
	}
	images, err := image.Find()
	if err != nil {
		return nil, nil, err
	}
	return devices, images, nil
}

func info(dev *driver.Device, images *image.Set) backend.Info {
	return backend.Info{
		Backend: backend.CUDA,
		Ordinal: dev.Ordinal,
		Name:    dev.Name,
		Memory:  dev.Bytes,
		Detail: fmt.Sprintf("compute capability %d.%d, %d multiprocessors, driver for CUDA %s, kernels: %s",
			dev.ComputeMajor, dev.ComputeMinor, dev.Multiprocessors, dev.DriverVersion(), images.Origin),
		Unusable: dev.Unusable,
	}
}

// Open implements backend.Provider: it makes the card's context.
func (p *Provider) Open(ordinal int) (backend.Device, error) {
	devices, images, err := p.find()
	if err != nil {
		return nil, ofKind(err)
	}
	if ordinal < 0 || ordinal >= len(devices) {
		return nil, fmt.Errorf("cuda: %w: device %d, expected 0 to %d", backend.ErrNoDevice, ordinal, len(devices)-1)
	}
	if err := devices[ordinal].Refusal(); err != nil {
		return nil, sentinel.Wrap(backend.ErrNoDevice, ofKind(err))
	}
	d, err := openPatiently(devices[ordinal], images, p.options)
	return d, ofKind(err)
}

var _ backend.HostPinner = (*Provider)(nil)

// PinHost implements backend.HostPinner.
func (p *Provider) PinHost(memory []byte) error {
	err := p.options.pins.Add(memory)
	if errors.Is(err, registered.ErrNoneOpen) {
		return fmt.Errorf("%w to pin %d bytes of host memory: %s", err, len(memory), p.cards())
	}
	return err
}

// cards names all cards, for an error.
func (p *Provider) cards() string {
	d, err := driver.Open()
	if err != nil {
		return err.Error()
	}
	devices, err := d.Devices()
	if err != nil {
		return err.Error()
	}
	names := make([]string, len(devices))
	for i, dev := range devices {
		names[i] = dev.String()
	}
	return strings.Join(names, ", ")
}

// UnpinHost implements backend.HostPinner.
func (p *Provider) UnpinHost(first *byte) error { return p.options.pins.Remove(first) }
