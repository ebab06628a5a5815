package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// An instant is a whole second in which something happens. Instants are further apart than what is tolerated between
// times, so that times show which instant they are.
const (
	apart     = 5 * time.Second
	tolerance = 2 * time.Second
)

// tally counts what has happened.
type tally struct {
	histories, acts, instants int
	meant                     map[string]int // by rule
}

func (t *tally) add(other *tally) {
	t.histories++
	t.acts += other.acts
	t.instants += other.instants
	for name, n := range other.meant {
		t.meant[name] += n
	}
}

// history is what happens to the two worlds.
type history struct {
	tally

	seed, number     uint64
	random           *rand.Rand
	original, engine *world
	// isWild lets users do what they had better not.
	isWild bool
	// hasEnded says that the worlds go different ways from here.
	hasEnded bool
	// isHasty lets no write of the engine wait for another.
	isHasty bool
	isLoud  bool
	story   []string
	start   time.Time
}

func newHistory(seed, number uint64) *history {
	h := &history{tally: tally{meant: map[string]int{}}, seed: seed, number: number, random: rand.New(rand.NewPCG(seed, number)), start: time.Now()}
	h.isWild = h.random.Float64() < .4
	isShuffled := h.random.Float64() < .5
	h.isHasty = h.random.Float64() < .5
	h.original, h.engine = newWorld("original", seed, number+1<<32), newWorld("engine", seed, number+2<<32)
	for _, w := range h.worlds() {
		w.isShuffled = isShuffled
		w.logf = func(format string, arguments ...any) {
			h.logf("    "+w.title+": "+format, arguments...)
		}
		w.server.wrote = w.logf
	}
	h.original.controller = newOriginal(h.original.server, h.original.events)
	h.engine.controller = newEngine(h.engine.server, h.engine.events, h.isHasty, h.engine.logf)
	return h
}

func (h *history) worlds() []*world { return []*world{h.original, h.engine} }

func (h *history) logf(format string, arguments ...any) {
	if h.isLoud {
		h.story = append(h.story, fmt.Sprintf("%9.3f ", time.Since(h.start).Seconds())+fmt.Sprintf(format, arguments...))
	}
}

// play returns how the worlds differ, if they do.
func (h *history) play(ctx context.Context) (difference string) {
	h.logf("wild: %t, shuffled: %t", h.isWild, h.original.isShuffled)
	for chapters := 3 + h.random.IntN(10); chapters > 0 && !h.hasEnded; chapters-- {
		for quiet := h.random.IntN(3); quiet > 0; quiet-- {
			if difference = h.instant(ctx, 0); difference != "" {
				return difference
			}
		}
		acts := 1
		if h.random.Float64() < .25 {
			acts += h.random.IntN(3)
		}
		if difference = h.instant(ctx, acts); difference != "" {
			return difference
		}
	}
	return ""
}

// instant lets time pass and then some things happen. After both, everybody reacts until there is nothing left to do.
func (h *history) instant(ctx context.Context, acts int) (difference string) {
	time.Sleep(time.Until(h.next()))
	h.instants++
	for _, w := range h.worlds() {
		w.now = time.Now()
		w.collect()
		w.elapse()
	}
	if difference = h.react(ctx); difference != "" || acts == 0 || h.hasEnded {
		return difference
	}
	for range acts {
		if act := (randomly{h, h.original}).act(); act != nil {
			h.acts++
			h.logf("somebody %s", act.what)
			for _, w := range h.worlds() {
				act.do(w)
			}
		}
	}
	return h.react(ctx)
}

// react lets everybody react, and returns how the worlds differ then.
func (h *history) react(ctx context.Context) (difference string) {
	for _, w := range h.worlds() {
		w.controller.retry()
	}
	h.rest(ctx)
	difference = h.compare(ctx)
	for _, w := range h.worlds() {
		w.server.ClearActions()
		w.server.forgetStatuses()
		w.events.forget()
	}
	return difference
}

// rest lets everybody react.
func (h *history) rest(ctx context.Context) {
	for until := time.Now().Add(time.Second); ; {
		for _, w := range h.worlds() {
			if w.rest(ctx); w.problem != "" {
				return
			}
		}
		next := h.nextDue()
		if next.IsZero() || next.After(until) {
			return
		}
		time.Sleep(time.Until(next))
	}
}

// nextDue is when one of the controllers wants to work next.
func (h *history) nextDue() (next time.Time) {
	for _, w := range h.worlds() {
		if due := w.controller.due(); next.IsZero() || !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	return next
}

// next is when something happens next: after a random while, or when a controller wants to work. If one wants to soon
// after, it is then, because a progress deadline is passed for the two controllers at two moments of one second.
func (h *history) next() time.Time {
	choices := []time.Duration{apart, apart, 2 * apart, 3 * apart, 12 * time.Second, 25 * time.Second, 60 * time.Second, 300 * time.Second, 700 * time.Second}
	next := h.original.now.Add(choices[h.random.IntN(len(choices))])
	if due := h.nextDue(); !due.IsZero() && due.Before(next) {
		next = due
	}
	for {
		due := h.nextDue()
		if !due.After(next) || due.After(next.Add(tolerance)) {
			break
		}
		next = due
	}
	if earliest := h.original.now.Add(apart); next.Before(earliest) {
		next = earliest
	}
	return next.Truncate(time.Second).Add(time.Second)
}
