package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/test/soak/model"
)

func TestTheTermsOfAnAnnotationAreThoseThatTheSoakWrote(t *testing.T) {
	now := time.Date(2026, 1, 20, 23, 59, 30, 0, time.UTC)
	midnight := now.Add(30 * time.Second)
	window := func(opens time.Time, lasts time.Duration) model.Terms {
		return model.Terms{Window: model.Window{Exists: true, Opens: opens, Closes: opens.Add(lasts)}}
	}
	for name, c := range map[string]struct {
		annotations map[string]string
		want        model.Terms
	}{
		"none":           {nil, model.Terms{}},
		"a hold":         {map[string]string{holdAnnotation: "for the soak"}, model.Terms{Hold: true}},
		"an empty hold":  {map[string]string{holdAnnotation: ""}, model.Terms{Hold: true}},
		"a window":       {map[string]string{windowAnnotation: "CRON_TZ=UTC 50 23 * * * 5m"}, window(now.Add(-9*time.Minute-30*time.Second), 5*time.Minute)},
		"of tomorrow":    {map[string]string{windowAnnotation: "CRON_TZ=UTC 0 0 * * * 1m"}, window(midnight, time.Minute)},
		"an invalid one": {map[string]string{windowAnnotation: "at night"}, model.Terms{Window: model.Window{Exists: true}}},
	} {
		if got := termsOf(c.annotations, now); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := termsOf(map[string]string{windowAnnotation: "CRON_TZ=UTC 59 23 * * * 5m"}, midnight); got != window(midnight.Add(-time.Minute), 5*time.Minute) {
		t.Errorf("that of yesterday is %+v", got)
	}
}

func TestWindowsThatAreDrawnOpenWithinAMinute(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	now := time.Date(2026, 1, 20, 12, 0, 13, 0, time.UTC)
	kinds := map[string]int{}
	for range 1000 {
		kind, annotations, lasts := drawTerms(random, now)
		kinds[kind]++
		if kind != "window" {
			continue
		}
		terms := termsOf(map[string]string{windowAnnotation: annotations[windowAnnotation].(string)}, now)
		if wait := terms.Window.Opens.Sub(now); wait <= 0 || wait > time.Minute || lasts < wait {
			t.Fatalf("%v opens after %s and is there for %s", annotations, wait, lasts)
		}
	}
	if len(kinds) != 3 {
		t.Errorf("the kinds are %v, want three", kinds)
	}
}
