package metrics

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
)

func example() engine.Metrics {
	return engine.Metrics{
		ParameterSets: 2,
		Devices: []engine.DeviceMetrics{
			{
				Info: backend.Info{Backend: "cuda", Ordinal: 1, Name: `H200 "large"`},
				Stats: backend.Stats{BudgetBytes: 16 << 30, FixedBytes: 1, JobBytes: 2, FencedBytes: 3, SetBytes: 4,
					MappedBytes: 5, PinnedBytes: 6, UploadedBytes: 7, Retries: 8, Resets: 9, HostSetBytes: 13, Streamed: 14},
				Workers: 3, Waiting: 4, Carried: 2, Moved: 12,
				Outcomes: map[engine.Outcome]uint64{engine.OutcomeDone: 10, engine.OutcomeLost: 1},
				Stages:   map[string]engine.StageMetrics{"upload": {Count: 11, Seconds: 2.5}},
			},
			{Info: backend.Info{Backend: "cpu", Name: "processor"}},
			{Info: backend.Info{Backend: "cuda", Ordinal: 2, Name: "gone", Unusable: "restart the process"}},
		},
	}
}

func collectorOf(m engine.Metrics) prometheus.Collector {
	return &collector{func() engine.Metrics { return m }}
}

func TestText(t *testing.T) {
	text, err := text(collectorOf(example()))
	require.NoError(t, err)
	const labels = `device="cuda1",name="H200 \"large\""`
	for _, line := range []string{
		"# HELP cuzk_queue_length Partitions that wait for a worker.",
		"# TYPE cuzk_queue_length gauge",
		"# TYPE cuzk_partitions_total counter",
		"# TYPE cuzk_stage_seconds summary",
		"cuzk_parameter_sets 2",
		"cuzk_workers{" + labels + "} 3",
		"cuzk_queue_length{" + labels + "} 4",
		"cuzk_partitions_carried{" + labels + "} 2",
		"cuzk_vram_budget_bytes{" + labels + "} 1.7179869184e+10",
		"cuzk_vram_mapped_bytes{" + labels + "} 5",
		"cuzk_vram_used_bytes{" + labels + `,use="fixed"} 1`,
		"cuzk_vram_used_bytes{" + labels + `,use="jobs"} 2`,
		"cuzk_vram_used_bytes{" + labels + `,use="fenced"} 3`,
		"cuzk_vram_used_bytes{" + labels + `,use="parameters"} 4`,
		"cuzk_pinned_host_bytes{" + labels + "} 6",
		"cuzk_pinned_parameter_bytes{" + labels + "} 13",
		"cuzk_partitions_streamed_total{" + labels + "} 14",
		"cuzk_uploaded_bytes_total{" + labels + "} 7",
		"cuzk_retries_total{" + labels + "} 8",
		"cuzk_device_resets_total{" + labels + "} 9",
		"cuzk_moved_total{" + labels + "} 12",
		`cuzk_partitions_total{device="cuda1",name="H200 \"large\"",outcome="done"} 10`,
		`cuzk_partitions_total{device="cuda1",name="H200 \"large\"",outcome="device_lost"} 1`,
		`cuzk_partitions_total{device="cuda1",name="H200 \"large\"",outcome="failed"} 0`,
		`cuzk_stage_seconds_sum{device="cuda1",name="H200 \"large\"",stage="upload"} 2.5`,
		`cuzk_stage_seconds_count{device="cuda1",name="H200 \"large\"",stage="upload"} 11`,
		`cuzk_queue_length{device="cpu0",name="processor"} 0`,
		`cuzk_device_usable{device="cpu0",name="processor"} 1`,
		`cuzk_device_usable{device="cuda2",name="gone"} 0`,
	} {
		assert.Contains(t, strings.Split(string(text), "\n"), line)
	}
	assert.True(t, strings.HasSuffix(string(text), "\n"))
}

func TestNamesFollowPrometheusRules(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collectorOf(example())))
	families, err := registry.Gather()
	require.NoError(t, err)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// TestDocumentation holds docs/observing.md against what is written.
func TestDocumentation(t *testing.T) {
	text, err := text(collectorOf(example()))
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/observing.md")
	require.NoError(t, err)
	names := func(pattern string, in []byte) (list []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(in, -1) {
			list = append(list, string(m[1])+" "+string(m[2]))
		}
		slices.Sort(list)
		return list
	}
	assert.Equal(t, names(`(?m)^# TYPE (\w+) (\w+)$`, text), names("(?m)^\\| `(cuzk_\\w+)` \\| (\\w+)", page))
	for _, o := range engine.Outcomes() {
		assert.Contains(t, string(page), "`"+string(o)+"`")
	}
	for _, u := range uses {
		assert.Contains(t, string(page), "`"+u.name+"`")
	}
}
