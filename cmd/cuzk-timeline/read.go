package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/libcuzk/libcuzk/engine/timeline"
)

// recording is a timeline's content; times are in seconds since it began.
type recording struct {
	tracks   []*track // in the order of their appearance
	dropped  uint64
	complete bool    // ends with its bracket
	window   stretch // to look at; empty: each device's steady state
}

// track is a line of the timeline.
type track struct {
	device string
	name   string
	kind   timeline.Kind
	spans  []span // not those of kind Queue
	short  uint64 // holds that have no span
}

type span struct {
	stretch
	name string
	job  uint64
}

// stretch is an interval of time.
type stretch struct{ from, to float64 }

func (s stretch) empty() bool   { return s.to <= s.from }
func (s stretch) size() float64 { return max(s.to-s.from, 0) }

func (s stretch) and(o stretch) stretch { return stretch{max(s.from, o.from), min(s.to, o.to)} }

// event is one of Chrome's.
type event struct {
	Name     string        `json:"name"`
	Category timeline.Kind `json:"cat"`
	Phase    string        `json:"ph"`
	Process  int           `json:"pid"`
	Thread   int           `json:"tid"`
	Time     float64       `json:"ts"`  // microseconds
	Duration float64       `json:"dur"` // microseconds
	Args     struct {
		Name  string `json:"name"`
		Job   uint64 `json:"job"`
		Count uint64 `json:"count"`
	} `json:"args"`
}

const second = 1e6 // in the microseconds of the file

// read takes a timeline, also one that ends in the middle.
func read(from io.Reader) (*recording, error) {
	d := json.NewDecoder(from)
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return nil, fmt.Errorf("not a timeline: expected a JSON array (%v, %w)", start, err)
	}
	b := builder{devices: map[int]string{}, tracks: map[[2]int]*track{}}
	for d.More() {
		var e event
		err := d.Decode(&e)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return &b.recording, nil
		}
		if err != nil {
			return nil, fmt.Errorf("at byte %d: %w", d.InputOffset(), err)
		}
		b.add(&e)
	}
	_, err := d.Token()
	b.complete = err == nil
	return &b.recording, nil
}

type builder struct {
	recording
	devices map[int]string
	tracks  map[[2]int]*track // by process and thread
}

func (b *builder) add(e *event) {
	key := [2]int{e.Process, e.Thread}
	switch {
	case e.Name == timeline.NameProcess:
		b.devices[e.Process] = e.Args.Name
	case e.Name == timeline.NameThread:
		r := &track{device: b.devices[e.Process], name: e.Args.Name, kind: e.Category}
		b.tracks[key] = r
		b.recording.tracks = append(b.recording.tracks, r)
	case e.Name == timeline.NameDropped:
		b.dropped += e.Args.Count
	case b.tracks[key] == nil:
	case e.Name == timeline.NameShort:
		b.tracks[key].short += e.Args.Count
	case e.Phase == "X":
		is := stretch{e.Time / second, (e.Time + e.Duration) / second}
		b.tracks[key].spans = append(b.tracks[key].spans, span{is, e.Name, e.Args.Job})
	}
}

// end is when the last span ends.
func (r *recording) end() (last float64) {
	for _, track := range r.tracks {
		for _, s := range track.spans {
			last = max(last, s.to)
		}
	}
	return last
}

// deviceNames lists the devices, in the order of their appearance.
func (r *recording) deviceNames() []string {
	var names []string
	seen := map[string]bool{}
	for _, track := range r.tracks {
		if !seen[track.device] {
			seen[track.device] = true
			names = append(names, track.device)
		}
	}
	return names
}

// of lists a device's tracks of some kinds.
func (r *recording) of(device string, kinds ...timeline.Kind) (list []*track) {
	for _, track := range r.tracks {
		for _, k := range kinds {
			if track.device == device && track.kind == k {
				list = append(list, track)
			}
		}
	}
	return list
}
