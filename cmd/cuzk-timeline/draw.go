package main

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"text/template"

	"github.com/libcuzk/libcuzk/engine/timeline"
)

//go:embed timeline.svg.tmpl
var svgText string

var svg = template.Must(template.New("svg").Parse(svgText))

// Sizes of the drawing, in pixels.
const (
	leftMargin  = 190 // for the tracks' names
	rightMargin = 20
	topMargin   = 34 // for the axis
	rowHeight   = 26
	rowGap      = 6
	titleHeight = 24  // of a device
	inset       = 5   // of a span inside another
	deepest     = 2   // how often
	minBar      = 6   // width of a bar with a frame and a tip
	perPixel    = 2   // places for what is narrower
	perLetter   = 6.6 // width of one, about
	legendWidth = 200
	legendLine  = 18
	ticks       = 10
)

// palette is told apart also by people who see few colours: after Wong,
// Points of view: Color blindness, Nature Methods 8 (2011).
var palette = []string{
	"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c",
	"#3b4cc0", "#b3de69", "#fb8072", "#80b1d3",
}

// Colours of spans in which nothing is done.
const (
	partitionColour = "#e8e8e8"
	waitColour      = "#ffffff"
)

type drawing struct {
	Width, Height int
	Titles        []label
	Rows          []*strip
	Ticks         []tick
	Legend        []entry
}

type label struct {
	X, Y float64
	Text string
}

// strip is a track of the drawing. X and Y of what is on it are relative to it.
type strip struct {
	Y      float64
	Text   string
	Bars   []bar
	Narrow []*narrow
}

// bar is a span; Tip is shown under the mouse.
type bar struct {
	X, Y, Width, Height float64
	Colour, Text, Tip   string
}

type tick struct {
	X, Top, Bottom float64
	Text           string
}

type entry struct {
	X, Y   float64
	Colour string
	Text   string
}

// draw writes the stretch of the window as SVG.
func (r *recording) draw(out io.Writer, width int) error {
	window := r.window
	for _, device := range r.deviceNames() {
		if window.empty() {
			window = r.measure(device).window
		}
	}
	if window.empty() {
		window = stretch{0, r.end()}
	}
	if window.empty() {
		return fmt.Errorf("nothing to draw: the timeline has no spans")
	}
	p := painter{
		drawing: drawing{Width: width}, window: window, y: topMargin, colours: map[string]string{},
		scale: float64(width-leftMargin-rightMargin) / window.size(),
	}
	for _, device := range r.deviceNames() {
		p.device(device, r.of(device, timeline.Host, timeline.Copies, timeline.Kernels, timeline.Lock))
	}
	p.axis()
	p.legend()
	if err := svg.Execute(out, &p.drawing); err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	return nil
}

type painter struct {
	drawing
	window  stretch
	scale   float64 // pixels a second
	y       float64
	colours map[string]string // by name of span
	names   []string          // in the order of colours
}

// device draws the tracks that have something in the window.
func (p *painter) device(name string, tracks []*track) {
	slices.SortStableFunc(tracks, func(a, b *track) int { return order(a) - order(b) })
	titled := false
	for _, r := range tracks {
		if len(spansIn([]*track{r}, p.window)) == 0 {
			continue
		}
		if !titled {
			p.Titles = append(p.Titles, label{0, p.y + titleHeight - rowGap, name})
			p.y += titleHeight
			titled = true
		}
		p.track(r)
	}
}

// order puts workers above streams above locks.
func order(r *track) int {
	return slices.Index([]timeline.Kind{timeline.Host, timeline.Copies, timeline.Kernels, timeline.Lock}, r.kind)
}

func (p *painter) track(r *track) {
	l := &strip{Y: p.y, Text: r.name}
	p.Rows = append(p.Rows, l)
	spans := slices.Clone(r.spans)
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return sign(a.from - b.from)
		}
		return sign(b.to - a.to)
	})
	var around []span // those that s lies in
	for _, s := range spans {
		for len(around) > 0 && around[len(around)-1].to < s.to {
			around = around[:len(around)-1]
		}
		p.span(l, r, s, min(len(around), deepest))
		around = append(around, s)
	}
	p.y += rowHeight + rowGap
}

func sign(x float64) int {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return 0
}

// span draws the part of s that lies in the window.
func (p *painter) span(l *strip, r *track, s span, depth int) {
	part := s.and(p.window)
	if part.empty() {
		return
	}
	b := bar{
		X: p.x(part.from), Width: part.size() * p.scale,
		Y: float64(depth) * inset, Height: rowHeight - 2*float64(depth)*inset,
		Colour: p.colour(r, s.name),
		Tip:    fmt.Sprintf("%s, job %d: %.3f ms from %.3f ms", s.name, s.job, s.size()*1e3, s.from*1e3),
	}
	if b.Width < minBar {
		l.narrow(b)
		return
	}
	if text := fmt.Sprintf("%s %d", s.name, s.job); r.kind != timeline.Lock && s.name != "partition" && b.Width > float64(len(text))*perLetter {
		b.Text = text
	}
	l.Bars = append(l.Bars, b)
}

func (p *painter) x(seconds float64) float64 { return leftMargin + (seconds-p.window.from)*p.scale }

func (p *painter) colour(r *track, name string) string {
	switch {
	case name == "partition":
		return partitionColour
	case len(name) > 4 && name[:4] == "wait":
		return waitColour
	case r.kind == timeline.Lock:
		name = r.name
	}
	if c, ok := p.colours[name]; ok {
		return c
	}
	c := palette[len(p.names)%len(palette)]
	p.colours[name] = c
	p.names = append(p.names, name)
	return c
}

func (p *painter) axis() {
	step := p.window.size() / ticks
	for i := range ticks + 1 {
		at := p.window.from + float64(i)*step
		p.Ticks = append(p.Ticks, tick{p.x(at), topMargin - 6, p.y, fmt.Sprintf("%.4g ms", (at-p.window.from)*1e3)})
	}
}

func (p *painter) legend() {
	perLine := max((p.Width-leftMargin)/legendWidth, 1)
	for i, name := range p.names {
		p.Legend = append(p.Legend, entry{
			X: leftMargin + float64(i%perLine)*legendWidth, Y: p.y + 10 + float64(i/perLine)*legendLine,
			Colour: p.colours[name], Text: name,
		})
	}
	lines := (len(p.names) + perLine - 1) / perLine
	p.Height = int(p.y) + 20 + lines*legendLine
}
