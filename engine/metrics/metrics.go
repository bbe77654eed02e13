// Package metrics writes an engine's numbers for Prometheus.
//
// A program with a registry of its own registers NewCollector; Text is for
// everybody else.
package metrics

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/libcuzk/libcuzk/engine"
)

// Text is all metrics of an engine in Prometheus' text format.
func Text(e *engine.Engine) ([]byte, error) { return text(NewCollector(e)) }

func text(c prometheus.Collector) ([]byte, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(c); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	families, err := registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	var out bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	return out.Bytes(), nil
}

// NewCollector returns a collector that reads the numbers each time it is asked.
func NewCollector(e *engine.Engine) prometheus.Collector { return &collector{e.Metrics} }

type collector struct{ read func() engine.Metrics }

var deviceLabels = []string{"device", "name"}

func describe(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("cuzk_"+name, help, append(deviceLabels[:len(deviceLabels):len(deviceLabels)], more...), nil)
}

// What is one number a device.
var deviceNumbers = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*engine.DeviceMetrics) uint64
}{
	{describe("device_usable", "1 if the device takes jobs, 0 if it cannot be used or is lost until the process is restarted."),
		prometheus.GaugeValue, func(d *engine.DeviceMetrics) uint64 {
			if d.Unusable != "" {
				return 0
			}
			return 1
		}},
	{describe("workers", "Workers running on the device."),
		prometheus.GaugeValue, func(d *engine.DeviceMetrics) uint64 { return uint64(d.Workers) }},
	{describe("queue_length", "Partitions that wait for a worker."),
		prometheus.GaugeValue, func(d *engine.DeviceMetrics) uint64 { return uint64(d.Waiting) }},
	{describe("partitions_carried", "Partitions in the hands of workers."),
		prometheus.GaugeValue, func(d *engine.DeviceMetrics) uint64 { return uint64(d.Carried) }},
	{describe("vram_budget_bytes", "Device memory that may be used, context included."),
		prometheus.GaugeValue, func(d *engine.DeviceMetrics) uint64 { return d.BudgetBytes }},
	{describe("vram_mapped_bytes", "Physical device memory mapped for jobs and parameter sets."),
		prometheus.GaugeValue, func(d *engine.DeviceMetrics) uint64 { return d.MappedBytes }},
	{describe("pinned_host_bytes", "Pinned host memory for copies, and what callers allocated."),
		prometheus.GaugeValue, func(d *engine.DeviceMetrics) uint64 { return d.PinnedBytes }},
	{describe("pinned_parameter_bytes", "Pinned host memory with parameter sets that are streamed."),
		prometheus.GaugeValue, func(d *engine.DeviceMetrics) uint64 { return d.HostSetBytes }},
	{describe("partitions_streamed_total", "Partitions whose parameter set was streamed from host memory."),
		prometheus.CounterValue, func(d *engine.DeviceMetrics) uint64 { return d.Streamed }},
	{describe("uploaded_bytes_total", "Bytes copied to the device."),
		prometheus.CounterValue, func(d *engine.DeviceMetrics) uint64 { return d.UploadedBytes }},
	{describe("retries_total", "Partitions and loads run again after the device was lost."),
		prometheus.CounterValue, func(d *engine.DeviceMetrics) uint64 { return d.Retries }},
	{describe("moved_total", "Partitions given to another device after this one was lost."),
		prometheus.CounterValue, func(d *engine.DeviceMetrics) uint64 { return d.Moved }},
	{describe("device_resets_total", "Times the device was lost."),
		prometheus.CounterValue, func(d *engine.DeviceMetrics) uint64 { return d.Resets }},
}

// Device memory by use.
var uses = []struct {
	name string
	of   func(*engine.DeviceMetrics) uint64
}{
	{"fixed", func(d *engine.DeviceMetrics) uint64 { return d.FixedBytes }},
	{"jobs", func(d *engine.DeviceMetrics) uint64 { return d.JobBytes }},
	{"fenced", func(d *engine.DeviceMetrics) uint64 { return d.FencedBytes }},
	{"parameters", func(d *engine.DeviceMetrics) uint64 { return d.SetBytes }},
}

var (
	setsDesc = prometheus.NewDesc("cuzk_parameter_sets", "Open parameter sets.", nil, nil)
	usedDesc = describe("vram_used_bytes",
		"Device memory by use: fixed (context, buffers), jobs, fenced (handed on, last use running), parameters.", "use")
	outcomeDesc = describe("partitions_total", "Partitions that have ended, by outcome.", "outcome")
	stageDesc   = describe("stage_seconds", "Time that partitions spent in each stage.", "stage")
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, n := range deviceNumbers {
		to <- n.desc
	}
	for _, d := range []*prometheus.Desc{setsDesc, usedDesc, outcomeDesc, stageDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	m := c.read()
	to <- prometheus.MustNewConstMetric(setsDesc, prometheus.GaugeValue, float64(m.ParameterSets))
	for i := range m.Devices {
		collectDevice(&m.Devices[i], to)
	}
}

func collectDevice(d *engine.DeviceMetrics, to chan<- prometheus.Metric) {
	device, name := d.Backend+strconv.Itoa(d.Ordinal), d.Name
	for _, n := range deviceNumbers {
		to <- prometheus.MustNewConstMetric(n.desc, n.kind, float64(n.of(d)), device, name)
	}
	for _, use := range uses {
		to <- prometheus.MustNewConstMetric(usedDesc, prometheus.GaugeValue, float64(use.of(d)), device, name, use.name)
	}
	for _, o := range engine.Outcomes() {
		// Also those that have not occurred: a rate needs a zero to start from.
		to <- prometheus.MustNewConstMetric(outcomeDesc, prometheus.CounterValue, float64(d.Outcomes[o]), device, name, string(o))
	}
	for stage, s := range d.Stages {
		to <- prometheus.MustNewConstSummary(stageDesc, s.Count, s.Seconds, nil, device, name, stage)
	}
}
