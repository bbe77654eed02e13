package timeline

import (
	"encoding/json"
	"os"
	"strconv"
	"time"
)

// Names of events that are no spans; cmd/cuzk-timeline reads them.
const (
	NameProcess = "process_name"
	NameThread  = "thread_name"
	NameSort    = "thread_sort_index"
	NameShort   = "short holds" // a counter: holds below ShortHold since the last one
	NameDropped = "dropped"     // spans lost since the last one
	NameStart   = "start"       // wall clock at time 0
)

// Phases of Chrome's format.
const (
	phaseSpan       = "X"
	phaseAsyncBegin = "b"
	phaseAsyncEnd   = "e"
	phaseMeta       = "M"
	phaseCounter    = "C"
)

// object is an event in Chrome's JSON. Times are in microseconds since the
// recording began.
type object struct {
	Name     string         `json:"name"`
	Category Kind           `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	ID       string         `json:"id,omitempty"`
	Time     json.Number    `json:"ts"`
	Duration json.Number    `json:"dur,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

func (r *recording) write(o object) {
	text, err := json.Marshal(o)
	if err != nil {
		r.fail(err)
		return
	}
	separator := ",\n"
	if r.first {
		separator, r.first = "[\n", false
	}
	_, err = r.out.WriteString(separator)
	r.fail(err)
	_, err = r.out.Write(text)
	r.fail(err)
}

func (r *recording) writeStart() {
	r.write(object{Name: NameStart, Phase: phaseMeta, Time: "0", Args: map[string]any{
		"time": r.begin.UTC().Format(time.RFC3339Nano), "process": os.Getpid(),
	}})
}

func (r *recording) writeEnd() {
	_, err := r.out.WriteString("\n]\n")
	r.fail(err)
	r.fail(r.out.Flush())
}

// place names the track at its first use and fills in where an event is.
func (r *recording) place(track *Track, o object) object {
	o.Process, o.Thread = track.device.id, track.id
	if r.named[track] {
		return o
	}
	r.named[track] = true
	for _, m := range []object{
		{Name: NameProcess, Args: map[string]any{"name": track.device.name}},
		{Name: NameThread, Args: map[string]any{"name": track.name}},
		{Name: NameSort, Args: map[string]any{"sort_index": track.id}},
	} {
		m.Phase, m.Category, m.Process, m.Thread, m.Time = phaseMeta, track.kind, o.Process, o.Thread, "0"
		r.write(m)
	}
	return o
}

func (r *recording) writeEvent(e *event) {
	o := r.place(e.track, object{Name: e.name, Category: e.track.kind, Time: r.since(e.begin)})
	if e.job != 0 {
		o.Args = map[string]any{"job": e.job, "partition": e.partition}
	}
	if e.track.kind != Queue {
		o.Phase, o.Duration = phaseSpan, micros(e.end.Sub(e.begin))
		r.write(o)
		return
	}
	// Spans of one thread must not overlap, but for asynchronous ones.
	o.Phase, o.ID = phaseAsyncBegin, strconv.FormatUint(e.job, 10)+"."+strconv.Itoa(e.partition)
	r.write(o)
	o.Phase, o.Time, o.Args = phaseAsyncEnd, r.since(e.end), nil
	r.write(o)
}

func (r *recording) writeShort(track *Track, n uint64) {
	o := r.place(track, object{Name: NameShort, Category: track.kind, Phase: phaseCounter, Time: r.since(time.Now())})
	// Chrome keeps counters by process and id.
	o.ID = track.name
	o.Args = map[string]any{"count": n}
	r.write(o)
}

func (r *recording) writeDropped(n uint64) {
	r.write(object{Name: NameDropped, Phase: phaseMeta, Time: r.since(time.Now()), Args: map[string]any{"count": n}})
}

func (r *recording) since(t time.Time) json.Number { return micros(t.Sub(r.begin)) }

// micros is d in microseconds with three digits.
func micros(d time.Duration) json.Number {
	return json.Number(strconv.FormatFloat(float64(d)/float64(time.Microsecond), 'f', 3, 64))
}
