package main

import (
	"bytes"
	"flag"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/test/soak/model"
)

// About two minutes with the start and the end; `make soak` plays for as long as one likes.
const shortSoak = 45 * time.Second

// workloadsInATest is smaller on a machine that would spend the time on setting them up.
func workloadsInATest() int { return min(defaultWorkloads, 150*runtime.NumCPU()) }

var seed = flag.Uint64("seed", 0, "of the soak, to repeat one; 0 for a random one")

func TestASoakWithARandomSeedPasses(t *testing.T) {
	if testing.Short() {
		t.Skip("a soak starts a control plane: left out with -short")
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("the seed is %d (-seed repeats it)", *seed)
	report, err := run(t.Context(), options{seed: *seed, duration: shortSoak, workloads: workloadsInATest(), progress: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if report.failed() {
		t.Fail()
	}
}

func TestASeedMakesTheSameWorld(t *testing.T) {
	describe := func(seed uint64) string {
		w := newWorld(rand.New(rand.NewPCG(seed, 0)), 50)
		var text strings.Builder
		for _, d := range w.workloads {
			for i := range d.uses {
				text.WriteString(d.kind + d.name + d.uses[i].config.name)
			}
		}
		return text.String()
	}
	if first, second := describe(1), describe(1); first != second {
		t.Error("one seed makes two worlds")
	}
	if describe(1) == describe(2) {
		t.Error("two seeds make one world")
	}
}

func TestTheWorldHasEverything(t *testing.T) {
	w := newWorld(rand.New(rand.NewPCG(1, 0)), defaultWorkloads)
	found := map[string]int{}
	for _, d := range w.workloads {
		found[d.kind]++
		found["never enabled"] += count(d.never)
		found["steady"] += count(d.steady)
		found["recreating"] += count(d.recreate)
		found["patient"] += count(d.ownGrace > grace)
		found["evicting "+d.kind] += count(d.evicts)
	}
	for _, c := range w.configs {
		found[c.kind]++
		found["deleted and made again"] += count(c.steady && c.lively)
		found["with a key that no container reads"] += count(len(c.blind) > 0)
		found["shared"] += count(c.shared && len(c.readers) > 3)
		found["left alone"] += count(!c.lively)
		found["lively and read whole"] += count(c.lively && len(c.readersOf("data/a")) > 0 && len(c.readersOf("data/b")) > 0)
	}
	for _, what := range []string{
		"Deployment", "StatefulSet", "DaemonSet", gadgetKind, "evicting Deployment", "evicting StatefulSet", "evicting DaemonSet", "never enabled", "steady", "recreating", "configmap", "secret",
		"deleted and made again", "with a key that no container reads", "left alone", "patient", "lively and read whole", "shared",
	} {
		if found[what] < 10 {
			t.Errorf("only %d are %s", found[what], what)
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

func TestMemoryAndGoroutinesThatAreNotReleasedAreLeaks(t *testing.T) {
	start := footprint{resident: 60 * mebi, heap: 10 * mebi, goroutines: 80}
	for _, c := range []struct {
		name   string
		end    footprint
		leaked bool
	}{
		{"as before", start, false},
		{"a little more", footprint{resident: 70 * mebi, heap: 14 * mebi, goroutines: 90}, false},
		{"resident memory", footprint{resident: 200 * mebi, heap: 10 * mebi, goroutines: 80}, true},
		{"heap", footprint{resident: 60 * mebi, heap: 60 * mebi, goroutines: 80}, true},
		{"goroutines", footprint{resident: 60 * mebi, heap: 10 * mebi, goroutines: 130}, true},
	} {
		if err := leaked(start, c.end); (err != nil) != c.leaked {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTimesAreReportedByMedianAndPercentile(t *testing.T) {
	var all times
	for i := range 101 {
		all = append(all, time.Duration(100-i)*time.Second)
	}
	if got, want := all.String(), "101, median 50s, 95th percentile 1m35s"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if got := times(nil).String(); got != "none" {
		t.Errorf("without times it says %q", got)
	}
}

func TestAReportShowsAllRulesThatWereBroken(t *testing.T) {
	r := &report{violations: make([]model.Violation, 100)}
	for i := range r.violations {
		r.violations[i].Rule = model.Overlooked
	}
	r.violations[99].Rule = model.Needless
	text := r.String()
	for _, want := range []string{"WRONG: needless", "in all: needless 1, overlooked 99"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if got := strings.Count(text, "WRONG: overlooked"); got != shownViolations {
		t.Errorf("it shows %d of one rule, want %d", got, shownViolations)
	}
}

func TestAWrongCommandLineIsRefused(t *testing.T) {
	var out bytes.Buffer
	for _, arguments := range [][]string{{"-duration", "long"}, {"-duration", "-1s"}, {"-workloads", "0"}, {"-workloads", "10001"}, {"-rate", "-1"}, {"-rate", "NaN"}, {"-rate", "+Inf"}, {"more"}} {
		out.Reset()
		if code := play(arguments, &out); code != 2 || out.Len() == 0 {
			t.Errorf("soak %q exits with %d, want 2, and says %q", arguments, code, &out)
		}
	}
}

func TestTheLastTruceEndsWithTheDisturbances(t *testing.T) {
	begin := time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)
	for duration, want := range map[time.Duration]time.Duration{
		10 * time.Second: -16 * time.Second, // at once
		45 * time.Second: 19 * time.Second,
		time.Minute:      34 * time.Second,
		2 * time.Minute:  4 * time.Second, // and after 49 and 94 seconds
	} {
		if got := firstTruce(spell{begin, begin.Add(duration)}).Sub(begin); got != want {
			t.Errorf("the first of %s begins after %s, want %s", duration, got, want)
		}
	}
}
