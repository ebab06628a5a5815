package statuspage

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
)

// bar is a horizontal bar of segments, whose width is 100 together.
type bar struct {
	Label    string
	Segments []segment
}

type segment struct {
	Class    string
	X, Width float64
}

// part is how much of a whole is in a state.
type part struct {
	class string
	count int
}

func newBar(label string, whole int, parts ...part) bar {
	b := bar{Label: label}
	x := 0.0
	for _, p := range parts {
		if p.count <= 0 || whole <= 0 {
			continue
		}
		width := min(100-x, 100*float64(p.count)/float64(whole))
		b.Segments = append(b.Segments, segment{p.class, x, width})
		x += width
	}
	return b
}

func fanOutBar(f status.FanOut) bar {
	return newBar(f.Progress(), f.Total, part{"delivered", f.Delivered}, part{"rolling", f.Rolling}) // what waits is empty
}

// replicasBar shows one side of a rollout. Both sides have the same scale, so that one sees them trade pods.
func replicasBar(r status.Replicas, of status.Rollout) bar {
	label := fmt.Sprintf("%d available, %d more", r.Available, max(0, r.Present-r.Available))
	whole := max(of.Wanted, of.New.Present, of.Old.Present, of.New.Wanted, of.Old.Wanted)
	return newBar(label, whole, part{"delivered", r.Available}, part{"rolling", r.Present - r.Available})
}

// What the parts of bars mean.
var (
	fanOutLegend   = []tile{{"delivered", "delivered", 0}, {"rolling", "rolling", 0}, {"ground", "waiting, failed or not needed", 0}}
	timelineLegend = []tile{{"rolling", "under way", 0}, {"delivered", "delivered", 0}, {"failed", "failed", 0}, {"pending", "unknown", 0}}
	rolloutLegend  = []tile{{"delivered", "available", 0}, {"rolling", "not available yet", 0}, {"ground", "no pod", 0}}
)

// timeline shows since when and how long workloads restarted.
type timeline struct {
	From, To time.Time
	Rows     []timelineRow
}

type timelineRow struct {
	status.Restart
	Bar bar
}

// thinnest is how wide a part of a timeline is at least, so that one can see it.
const thinnest = 1.0

// timelineOf shows restarts, the earliest of which is the first.
func timelineOf(restarts []status.Restart, now time.Time) (t timeline) {
	if len(restarts) == 0 {
		return t
	}
	t.From, t.To = restarts[0].Time, restarts[0].Time
	ends := make([]time.Time, len(restarts))
	for i, r := range restarts {
		if ends[i] = r.Time.Add(time.Duration(r.Took) * time.Second); r.Outcome == "" && now.After(r.Time) {
			ends[i] = now
		}
		if ends[i].After(t.To) {
			t.To = ends[i]
		}
	}
	share := func(d time.Duration) float64 { return 100 * d.Seconds() / max(1, t.To.Sub(t.From).Seconds()) }
	for i, r := range restarts {
		class := map[status.Outcome]string{"": "rolling", status.Recovered: "delivered", status.Unknown: "pending"}[r.Outcome]
		width := max(thinnest, share(ends[i].Sub(r.Time)))
		part := segment{cmp.Or(class, string(r.Outcome)), min(share(r.Time.Sub(t.From)), 100-width), width}
		label := fmt.Sprintf("from %s to %s", atOn(r.Time, now), atOn(ends[i], now))
		t.Rows = append(t.Rows, timelineRow{r, bar{label, []segment{part}}})
	}
	return t
}

const (
	// maxSquares is how many squares a picture has at most, apart from one for each state that is rare.
	maxSquares   = 400
	squaresInRow = 40
	squareSize   = 14
)

// grid is a picture of squares.
type grid struct {
	Label         string
	Width, Height int
	// Each is how many workloads a square stands for.
	Each    int
	Squares []square
	Legend  []tile
}

type square struct {
	Class string
	X, Y  int
}

// readersGrid shows how many readers of a config are in which state.
func readersGrid(states map[status.State]int) grid {
	g := grid{Each: 1}
	total := 0
	for _, count := range states {
		total += count
	}
	if total > maxSquares {
		g.Each = (total + maxSquares - 1) / maxSquares
	}
	var labels []string
	for _, state := range status.States {
		count := states[state]
		if count == 0 {
			continue
		}
		labels = append(labels, fmt.Sprintf("%d %s", count, state))
		g.Legend = append(g.Legend, tile{string(state), string(state), count})
		for range max(1, count/g.Each) {
			g.add(string(state))
		}
	}
	g.Label = strings.Join(labels, ", ")
	g.Width = min(len(g.Squares), squaresInRow) * squareSize
	g.Height = (len(g.Squares) + squaresInRow - 1) / squaresInRow * squareSize
	return g
}

func (g *grid) add(class string) {
	i := len(g.Squares)
	g.Squares = append(g.Squares, square{class, i % squaresInRow * squareSize, i / squaresInRow * squareSize})
}
