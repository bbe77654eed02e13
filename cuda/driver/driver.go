// Package driver binds the CUDA driver API at run time: no cgo, no SDK, and no
// fault when there is no driver, only an error that says so.
//
// Calls that need a current context are methods of Bound, and a Bound exists
// only inside Thread.Do, on an OS thread of our own: no call ever runs on a
// caller's thread, whose current context belongs to the caller.
package driver

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// MinVersion is the least driver version that runs our kernel images, built
// with CUDA 13.0: as cuDriverGetVersion counts, 1000 major + 10 minor.
const MinVersion = 13000

// minRelease is the Linux driver release that MinVersion came with.
const minRelease = "580"

// ErrOldDriver is returned by Open for a driver older than MinVersion.
var ErrOldDriver = sentinel.New(sentinel.ErrNoDevice, "driver too old")

// Driver is the loaded and initialised driver library.
type Driver struct {
	fn      Table
	path    string
	version int
}

// ErrNotReady is returned by Open for a driver that did not initialise itself, but
// may later: its services have not started, or it is being upgraded.
var ErrNotReady = sentinel.ErrNotReady

// retryInit is how long after a driver that was not ready it is asked again.
const retryInit = 10 * time.Second

// opener loads and initialises a driver once, and again as long as it is not
// ready.
type opener struct {
	load func() (*Driver, error)

	mu     sync.Mutex
	driver *Driver   // guarded by mu
	err    error     // guarded by mu
	done   bool      // guarded by mu
	again  time.Time // guarded by mu; when a driver that was not ready is asked again
}

var process = opener{load: load}

// Open loads the driver and initialises it, once a process: later calls return
// the first answer, unless that is ErrNotReady. CUZK_CUDA_LIB replaces the path of
// the library.
func Open() (*Driver, error) { return process.open() }

func (o *opener) open() (*Driver, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.done:
		o.done = true
		if o.driver, o.err = o.load(); o.err == nil {
			o.initialiseLocked()
		}
	case errors.Is(o.err, ErrNotReady) && !time.Now().Before(o.again):
		o.initialiseLocked()
	}
	if o.err != nil {
		return nil, o.err
	}
	return o.driver, nil
}

func (o *opener) initialiseLocked() {
	o.err = o.driver.initialise()
	o.again = time.Now().Add(retryInit)
}

// load loads the library.
func load() (*Driver, error) {
	handle, path, err := openLibrary()
	if err != nil {
		return nil, err
	}
	d := &Driver{path: path}
	if err := d.fill(handle); err != nil {
		return nil, err
	}
	return d, nil
}

// initialise makes the loaded library ready for calls. What no argument of ours
// explains may pass: 802 says that a service of the machine has not started, 803
// that the driver is being replaced under us, 999 that the module is not there.
// Source: CUDA Driver API of CUDA 13.0, CUresult.
func (d *Driver) initialise() error {
	err := d.fail(d.fn.Init(0), -1, "cuInit", "")
	if Lost(err) {
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	if err != nil {
		return err
	}
	var version int32
	if err := d.fail(d.fn.DriverGetVersion(&version), -1, "cuDriverGetVersion", ""); err != nil {
		return err
	}
	d.version = int(version)
	return d.checkVersion()
}

// fill looks every function of the table up and reports all that are missing.
func (d *Driver) fill(handle uintptr) error {
	table := reflect.ValueOf(&d.fn).Elem()
	var missing []string
	var reason error
	for i := range table.NumField() {
		name, option, _ := strings.Cut(table.Type().Field(i).Tag.Get("cu"), ",")
		address, err := symbol(handle, name)
		switch {
		case err == nil:
			register(table.Field(i).Addr().Interface(), address)
			d.quicken(name, address)
		case option != "optional":
			missing = append(missing, name)
			reason = err
		}
	}
	if missing != nil {
		return fmt.Errorf("cuda: %s lacks %d functions (%s): %w; driver release %s or newer is needed",
			d.path, len(missing), strings.Join(missing, ", "), reason, minRelease)
	}
	return nil
}

// quicken replaces the functions that a job calls a hundred times: what they
// take are integers and pointers to C memory, so nothing needs converting.
func (d *Driver) quicken(name string, address uintptr) {
	switch name {
	case "cuLaunchKernel":
		d.fn.LaunchKernel = func(f Function, gx, gy, gz, bx, by, bz, shared uint32, s Stream, params, extra unsafe.Pointer) Result {
			return invoke(address, uintptr(f), uintptr(gx), uintptr(gy), uintptr(gz), uintptr(bx), uintptr(by), uintptr(bz),
				uintptr(shared), uintptr(s), uintptr(params), uintptr(extra))
		}
	case "cuEventRecord":
		d.fn.EventRecord = func(e Event, s Stream) Result { return invoke(address, uintptr(e), uintptr(s)) }
	case "cuEventQuery":
		d.fn.EventQuery = func(e Event) Result { return invoke(address, uintptr(e)) }
	case "cuStreamWaitEvent":
		d.fn.StreamWaitEvent = func(s Stream, e Event, flags uint32) Result {
			return invoke(address, uintptr(s), uintptr(e), uintptr(flags))
		}
	case "cuMemcpyHtoDAsync_v2":
		d.fn.MemcpyHtoDAsync = func(dst DevicePtr, src unsafe.Pointer, bytes uint64, s Stream) Result {
			return invoke(address, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
		}
	}
}

func (d *Driver) checkVersion() error {
	if d.version >= MinVersion {
		return nil
	}
	return fmt.Errorf("cuda: %w: %s supports CUDA %s, the kernels need %s (driver release %s or newer)",
		ErrOldDriver, d.path, versionText(d.version), versionText(MinVersion), minRelease)
}

// Version is the newest CUDA version the driver supports, as "13.0".
func (d *Driver) Version() string { return versionText(d.version) }

// Path is the library that was loaded, as it was asked for.
func (d *Driver) Path() string { return d.path }

// Simulated reports whether the library is the tests' simulator.
func (d *Driver) Simulated() bool { return d.fn.SimNote != nil }

func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// String is what messages call a device.
func (dev *Device) String() string { return fmt.Sprintf("gpu%d %s", dev.Ordinal, dev.Name) }

// Device is one card as the driver numbers it, after CUDA_VISIBLE_DEVICES.
type Device struct {
	d       *Driver
	handle  deviceHandle
	Ordinal int
	Name    string
	Bytes   uint64   // of device memory, all of it
	UUID    [16]byte // the same in every process on this machine

	ComputeMajor, ComputeMinor int
	Multiprocessors            int
	ThreadsPerSM               int // resident at most, on a multiprocessor
	L2Bytes                    int

	// Unusable says why the card cannot be used; empty if it can.
	Unusable string

	silent   error // why it did not say who it is; nil if it did
	uploaded atomic.Uint64
}

// Uploaded is how many bytes have been copied to the card through this value.
func (dev *Device) Uploaded() uint64 { return dev.uploaded.Load() }

// Devices lists the cards. It makes no context.
func (d *Driver) Devices() ([]*Device, error) {
	var count int32
	code := d.fn.DeviceGetCount(&count)
	if code == ErrorNoDevice {
		return nil, nil
	}
	if err := d.fail(code, -1, "cuDeviceGetCount", ""); err != nil {
		return nil, err
	}
	devices := make([]*Device, count)
	for i := range devices {
		devices[i] = d.device(i)
	}
	return devices, nil
}

// nameless is the name of a device that does not answer when it is asked for its own.
const nameless = "device without an answer"

// device asks one device who it is. If it gives no answer it is not usable, and
// others are.
func (d *Driver) device(ordinal int) *Device {
	dev := &Device{d: d, Ordinal: ordinal, Name: nameless}
	if err := dev.identify(); err != nil {
		dev.Unusable, dev.silent = err.Error(), err
	}
	return dev
}

// Refusal is why the device cannot be used, or nil.
func (dev *Device) Refusal() error {
	switch {
	case dev.silent != nil:
		return fmt.Errorf("cuda: gpu%d %s: %w", dev.Ordinal, dev.Name, dev.silent)
	case dev.Unusable == "":
		return nil
	}
	return fmt.Errorf("cuda: gpu%d %s: %s", dev.Ordinal, dev.Name, dev.Unusable)
}

func (dev *Device) identify() error {
	d, ordinal := dev.d, dev.Ordinal
	if err := d.fail(d.fn.DeviceGet(&dev.handle, int32(ordinal)), ordinal, "cuDeviceGet", ""); err != nil {
		return err
	}
	var name [256]byte
	if err := d.fail(d.fn.DeviceGetName(&name[0], int32(len(name)), dev.handle), ordinal, "cuDeviceGetName", ""); err != nil {
		return err
	}
	text, _, _ := bytes.Cut(name[:], []byte{0})
	dev.Name = string(text)
	if err := d.fail(d.fn.DeviceTotalMem(&dev.Bytes, dev.handle), ordinal, "cuDeviceTotalMem", ""); err != nil {
		return err
	}
	if err := d.fail(d.fn.DeviceGetUUID(&dev.UUID, dev.handle), ordinal, "cuDeviceGetUuid", ""); err != nil {
		return err
	}
	return dev.readAttributes()
}

// Simulated is Driver.Simulated.
func (dev *Device) Simulated() bool { return dev.d.Simulated() }

// DriverVersion is Driver.Version.
func (dev *Device) DriverVersion() string { return dev.d.Version() }

func (dev *Device) readAttributes() error {
	var mode, virtual int
	for _, a := range []struct {
		to *int
		id Attribute
	}{
		{&dev.ComputeMajor, AttrComputeMajor},
		{&dev.ComputeMinor, AttrComputeMinor},
		{&dev.Multiprocessors, AttrMultiprocessors},
		{&dev.ThreadsPerSM, AttrThreadsPerSM},
		{&dev.L2Bytes, AttrL2Bytes},
		{&mode, AttrComputeMode},
		{&virtual, AttrVirtualMemoryManaged},
	} {
		v, err := dev.Attribute(a.id)
		if err != nil {
			return err
		}
		*a.to = v
	}
	switch {
	case mode == computeModeProhibited:
		dev.Unusable = "compute mode is Prohibited (nvidia-smi -c 0 allows contexts)"
	case virtual == 0:
		dev.Unusable = "the driver offers no virtual memory management on this card"
	case dev.ComputeMajor < minComputeMajor:
		dev.Unusable = fmt.Sprintf("compute capability %d.%d, the kernels need %d.0 or newer",
			dev.ComputeMajor, dev.ComputeMinor, minComputeMajor)
	}
	return nil
}

// minComputeMajor is the oldest architecture in our kernel images, sm_80.
const minComputeMajor = 8

// Attribute reads one device attribute.
func (dev *Device) Attribute(a Attribute) (int, error) {
	var v int32
	err := dev.d.fail(dev.d.fn.DeviceGetAttribute(&v, a, dev.handle), dev.Ordinal, "cuDeviceGetAttribute", "%d", a)
	return int(v), err
}
