package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/libcuzk/libcuzk/engine/timeline"
)

// steadyJobs is from how many jobs on the first and the last are left out.
const steadyJobs = 4

// figures are what is printed of a device.
type figures struct {
	window  stretch
	steady  bool // the window leaves out the first and the last job
	jobs    int  // with kernels in the window
	kernels float64
	uploads float64
	under   float64 // of uploads, while kernels run
}

// measure computes a device's figures. Without kernels all are zero.
func (r *recording) measure(device string) figures {
	kernels := r.of(device, timeline.Kernels)
	window, steady := r.window, false
	if window.empty() {
		window, steady = steadyState(kernels)
	}
	busy := union(spansIn(kernels, window))
	uploads := union(spansIn(r.of(device, timeline.Copies), window))
	return figures{
		window: window, steady: steady, jobs: len(jobTimes(kernels, window)),
		kernels: total(busy), uploads: total(uploads), under: total(intersect(busy, uploads)),
	}
}

// steadyState is from the begin of the second job's kernels to the end of the
// last but one's, or all of it if the jobs are few.
func steadyState(kernels []*track) (window stretch, steady bool) {
	times := jobTimes(kernels, stretch{math.Inf(-1), math.Inf(1)})
	if len(times) == 0 {
		return stretch{}, false
	}
	begins := slices.SortedFunc(maps.Values(times), func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	ends := slices.SortedFunc(maps.Values(times), func(a, b stretch) int { return cmp.Compare(a.to, b.to) })
	if len(times) < steadyJobs {
		return stretch{begins[0].from, ends[len(ends)-1].to}, false
	}
	return stretch{begins[1].from, ends[len(ends)-2].to}, true
}

// jobTimes is from the first to the last of each job's spans in a window.
func jobTimes(tracks []*track, window stretch) map[uint64]stretch {
	times := map[uint64]stretch{}
	for _, r := range tracks {
		for _, s := range r.spans {
			if s.and(window).empty() {
				continue
			}
			t, ok := times[s.job]
			if !ok {
				t = s.stretch
			}
			times[s.job] = stretch{min(t.from, s.from), max(t.to, s.to)}
		}
	}
	return times
}

// spansIn are the parts of the tracks' spans that lie in a window.
func spansIn(tracks []*track, window stretch) (list []stretch) {
	for _, r := range tracks {
		for _, s := range r.spans {
			if part := s.and(window); !part.empty() {
				list = append(list, part)
			}
		}
	}
	return list
}

// union is the time that any of the stretches covers, in order and disjoint.
func union(of []stretch) []stretch {
	slices.SortFunc(of, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	var out []stretch
	for _, s := range of {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// intersect is what two unions have in common.
func intersect(a, b []stretch) (out []stretch) {
	for len(a) > 0 && len(b) > 0 {
		if both := a[0].and(b[0]); !both.empty() {
			out = append(out, both)
		}
		if a[0].to < b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

func total(of []stretch) (sum float64) {
	for _, s := range of {
		sum += s.size()
	}
	return sum
}

// quantile is the value that a share of n values, of which only the largest
// are known, in ascending order, does not exceed. It is below the known ones
// if ok is false.
func quantile(largest []float64, n uint64, share float64) (value float64, ok bool) {
	above := n - uint64(math.Ceil(share*float64(n))) // values that may be larger
	if above >= uint64(len(largest)) {
		return 0, false
	}
	return largest[uint64(len(largest))-1-above], true
}

// print writes all figures.
func (r *recording) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, device := range r.deviceNames() {
		fmt.Fprintf(t, "%s\n", device)
		r.printUse(t, device)
		r.printStages(t, device)
		r.printLocks(t, device)
	}
	if !r.complete {
		fmt.Fprintln(t, "The recording was not stopped: its last spans may be missing.")
	}
	if r.dropped > 0 {
		fmt.Fprintf(t, "%d spans were lost: the disk was too slow.\n", r.dropped)
	}
	return t.Flush()
}

func (r *recording) printUse(t io.Writer, device string) {
	f := r.measure(device)
	if f.window.empty() {
		return
	}
	what := "asked for"
	if r.window.empty() {
		what = "all jobs"
		if f.steady {
			what = "steady state: without the first and the last job"
		}
	}
	size := f.window.size()
	fmt.Fprintf(t, "  window\t%.3f s from %.3f s, %d jobs\t(%s)\n", size, f.window.from, f.jobs, what)
	fmt.Fprintf(t, "  GPU idle\t%.2f %%\t%.3f ms\n", (1-f.kernels/size)*100, (size-f.kernels)*1e3)
	if f.uploads > 0 {
		fmt.Fprintf(t, "  uploads\t%.3f ms\n  uploads under kernels\t%.2f %%\n", f.uploads*1e3, f.under/f.uploads*100)
	}
}

// times are durations in milliseconds.
func (r *recording) printTimes(t io.Writer, title string, times map[string][]float64, short map[string]uint64) {
	if len(times)+len(short) == 0 {
		return
	}
	fmt.Fprintf(t, "  %s\tcount\tp50 ms\tp99.9 ms\tmaximum ms\n", title)
	for _, name := range slices.Sorted(maps.Keys(times)) {
		largest := slices.Sorted(slices.Values(times[name]))
		n := uint64(len(largest)) + short[name]
		fmt.Fprintf(t, "    %s\t%d\t%s\t%s\t%s\n", name, n,
			cell(largest, n, 0.5), cell(largest, n, 0.999), cell(largest, n, 1))
	}
}

// cell is a quantile, or what it is below.
func cell(largest []float64, n uint64, share float64) string {
	if value, ok := quantile(largest, n, share); ok {
		return fmt.Sprintf("%.3f", value)
	}
	return fmt.Sprintf("< %.3f", timeline.ShortHold.Seconds()*1e3)
}

func (r *recording) printStages(t io.Writer, device string) {
	for _, kind := range []struct {
		title string
		of    timeline.Kind
	}{{"stage", timeline.Host}, {"kernels", timeline.Kernels}} {
		times := map[string][]float64{}
		for _, track := range r.of(device, kind.of) {
			for _, s := range track.spans {
				if r.window.empty() || !s.and(r.window).empty() {
					times[s.name] = append(times[s.name], s.size()*1e3)
				}
			}
		}
		r.printTimes(t, kind.title, times, nil)
	}
}

// printLocks counts all holds of the recording: short ones have no time.
func (r *recording) printLocks(t io.Writer, device string) {
	times, short := map[string][]float64{}, map[string]uint64{}
	for _, track := range r.of(device, timeline.Lock) {
		short[track.name] = track.short
		times[track.name] = nil
		for _, s := range track.spans {
			times[track.name] = append(times[track.name], s.size()*1e3)
		}
	}
	r.printTimes(t, "lock held", times, short)
}
