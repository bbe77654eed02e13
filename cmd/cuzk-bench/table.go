package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/libcuzk/libcuzk/engine/backend"
)

// table prints a markdown table, a row as soon as it is known.
type table struct {
	out      io.Writer
	baseline bool // any row has one
}

func newTable(out io.Writer) *table {
	fmt.Fprintln(out, "| circuit | domain | workers | partitions | ms each | baseline | of it | p50 | p99.9 | max | stages, mean ms |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|---|")
	return &table{out: out}
}

func (t *table) add(c *benchCase, m *measurement) {
	each := milliseconds(m.wall) / float64(len(m.calls))
	base, share := "", ""
	if b := baseline(c.like, c.log, m.workers); b != 0 {
		base, share = fmt.Sprintf("%.0f", b), fmt.Sprintf("%.2f", each/b)
		t.baseline = true
	}
	sorted := slices.Sorted(slices.Values(m.calls))
	fmt.Fprintf(t.out, "| %s | 2^%d | %d | %d | %.1f | %s | %s | %.1f | %.1f | %.1f | %s |\n",
		c.like, c.log, m.workers, len(m.calls), each, base, share,
		quantile(sorted, 0.5), quantile(sorted, 0.999), milliseconds(sorted[len(sorted)-1]), m.stageText())
}

func (t *table) footnotes() error {
	_, err := fmt.Fprintln(t.out, "\nms each: wall time over partitions. p50, p99.9 (nearest rank) and max are of whole calls, in ms.\n"+
		"Every proof was verified by pairing and equals the one computed from the trapdoor.")
	if t.baseline && err == nil {
		_, err = fmt.Fprintln(t.out, "Baseline: Curio's fork of supraseal-c2 on an H200, same shape, in ms; with more than one worker its best number of workers.")
	}
	return err
}

func (m *measurement) stageText() string {
	order := backend.Stages()
	names := make([]string, 0, len(m.stages))
	for name := range m.stages {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := slices.Index(order, a) - slices.Index(order, b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.1f", name, 1000*m.stages[name]/float64(len(m.calls)))
	}
	return strings.Join(names, ", ")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// quantile by nearest rank, in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return milliseconds(sorted[max(rank, 1)-1])
}

// baselines are milliseconds a partition of PoRep shape on one H200, 16 cores,
// PCIe 5 x16, by the logarithm of the domain: with one worker, and with its
// best number of workers. Measured with Curio's fork of supraseal-c2 and
// sppark 0.1.15 on synthetic data; 2^27 with the caller's memory pinned.
var baselines = map[int]struct{ one, best float64 }{
	14: {29, 27}, 16: {38, 37}, 18: {56, 55}, 20: {71, 67}, 22: {200, 136}, 24: {692, 479}, 26: {2651, 1890},
	27: {4620, 2960},
}

// baselineTwoWorkers is the one figure for two workers, at 2^27.
const baselineTwoWorkers = 3060

func baseline(like string, log, workers int) float64 {
	b := baselines[log]
	switch {
	case like != "porep":
		return 0
	case workers == 1:
		return b.one
	case workers == 2 && log == 27:
		return baselineTwoWorkers
	default:
		return b.best
	}
}
