package row

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"testing"
)

// In each scene, one bad content breaks one workload. They are what people saw before there were rows.
func TestScenes(t *testing.T) {
	for _, scene := range []struct {
		name   string
		events string // with the number of ticks after each
		broken int
		want   string // what the pods run in the end, and what is halted
	}{
		{
			name:   "another key is edited before the first reader is judged",
			events: "A=1 +1, B=2 +12, A=0 +20",
			broken: 1, want: "02 0202 02 A1",
		},
		{
			name:   "the same key is edited again before the first reader is judged",
			events: "A=3 +1, A=1 +20",
			broken: 1, want: "10 0000 00 A1",
		},
		{
			name:   "the write is carried out, and its answer is lost",
			events: "A=1 +0, w0 is written, the answer lost +20",
			broken: 1, want: "10 0000 00 A1",
		},
		{
			name:   "another writer undoes each restart",
			events: "A=1 +1, w0 is restarted by others +1, w0 is restarted by others +20",
			broken: 1, want: "10 0000 00 A1",
		},
		{
			name:   "somebody restarts the first reader by hand while it crashes",
			events: "A=1 +2, w0 is restarted by others +20",
			broken: 1, want: "10 0000 00 A1",
		},
		{
			name:   "the halted config is replaced by itself",
			events: "A=1 +4, A is replaced by itself +10, A is replaced by itself +20",
			broken: 1, want: "10 0000 00 A1",
		},
		{
			name:   "a pod is not ready now and then",
			events: "A=2 +2, w0 flickers +1, w0 flickers +1, w0 flickers +20",
			broken: 0, want: "20 2020 20",
		},
		{
			name:   "the first reader finds no node",
			events: "A=2 +1, w0 lacks a node or has one +20",
			broken: 0, want: "-- 2020 20",
		},
		{
			name:   "the bad content comes back after a good one",
			events: "A=1 +4, A=2 +20, A=1 +20",
			broken: 1, want: "20 2020 20 A1",
		},
		{
			name:   "the leader dies while the first reader crashes, which is then released as something that sleeps",
			events: "A=1 +2, w0 is released as sleep +0, takeover +20",
			broken: 1, want: "10 0000 00 A1",
		},
	} {
		t.Run(scene.name, func(t *testing.T) {
			w := play(t, scene.events)
			if broken := bits.OnesCount8(w.hurt); broken != scene.broken {
				t.Errorf("%d workloads are broken, not %d", broken, scene.broken)
			}
			if got := w.outcome(); got != scene.want {
				t.Errorf("in the end: %q, not %q", got, scene.want)
			}
			if w.problem != "" {
				t.Error(w.problem)
			}
		})
	}
}

// play plays events.
func play(t *testing.T, script string) *world {
	t.Helper()
	all := make(map[string]event)
	for _, e := range allEvents() {
		all[e.name] = e
	}
	w := newWorld(false)
	for len(script) > 0 {
		name, rest, _ := strings.Cut(script, " +")
		count, next, _ := strings.Cut(rest, ", ")
		e, isKnown := all[name]
		ticks, err := strconv.Atoi(count)
		if !isKnown || err != nil || !e.may(w) {
			t.Fatalf("%q, %q: it cannot happen", name, count)
		}
		for e.do(w); ticks > 0; ticks-- {
			w.tick()
		}
		script = next
	}
	return w
}

// outcome returns what the pods run and what is halted.
func (w *world) outcome() string {
	var all []string
	for i := range w.workloads {
		text := ""
		for _, p := range w.workloads[i].pods {
			switch {
			case p.exists && p.state == Unstarted:
				text += "--"
			case p.exists:
				text += fmt.Sprint(p.reads[keyA], p.reads[keyB])
			}
		}
		all = append(all, strings.ReplaceAll(text, " ", ""))
	}
	for _, h := range w.table.halts {
		all = append(all, h.Content.Config.Name+h.Content.ID)
	}
	return strings.Join(all, " ")
}
