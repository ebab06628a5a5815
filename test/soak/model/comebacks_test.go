package model

import (
	"testing"
	"time"
)

// podStarts shows a pod that is made and starts then.
func (p *play) podStarts(seconds float64) {
	p.SeePod(pod(seconds))
}

func pod(seconds float64) Pod {
	started := at(seconds).Truncate(time.Second)
	return Pod{Name: "pod", Workload: web, Created: started, Started: started}
}

// The content is another one from 20 to 25. What is first was recorded at 1, and the pods of then
// have read it.
func TestAContentThatComesBack(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(p *play)
		want []string
	}{
		{"needs no restart", func(p *play) {
			p.rest(1)
		}, nil},
		{"is a reason to restart if a pod has started meanwhile", func(p *play) {
			p.podStarts(22)
			p.restart(26, "first")
			p.rest(27)
		}, nil},
		{"is none if the pods are older", func(p *play) {
			p.podStarts(17)
			p.restart(26, "first")
			p.rest(27)
		}, []string{Needless}},
		{"is none if the pods are younger", func(p *play) {
			p.podStarts(31)
			p.restart(33, "first")
			p.rest(34)
		}, []string{Needless}},
		{"is one if a pod starts before the controller can know", func(p *play) {
			p.podStarts(29)
			p.restart(31, "first")
			p.rest(32)
		}, nil},
		{"is one for one restart", func(p *play) {
			p.podStarts(22)
			p.restart(26, "first")
			p.restart(27, "first")
			p.rest(28)
		}, []string{Needless}},
		{"is none if all pods were made anew since", func(p *play) {
			p.podStarts(22)
			p.edit(26, "a=3 b=1")
			p.restart(27, "third")
			p.restart(28, "third")
			p.rest(29)
		}, []string{Needless}},
		{"is one if it comes back while a later change is not known", func(p *play) {
			p.podStarts(22)
			p.edit(25.5, "a=3 b=1")
			p.restart(26, "first")
			p.restart(27, "third")
			p.rest(28)
		}, nil},

		{"leaves a pod behind that read another, which is one of a loss", func(p *play) {
			p.Watched(at(19), at(26))
			p.Rest([]Pod{pod(22)})
		}, []string{Lost}},
		{"leaves none behind of pods that may have read either", func(p *play) {
			p.Watched(at(19), at(26))
			p.Rest([]Pod{pod(24)})
		}, nil},
		{"leaves none behind of pods that are younger", func(p *play) {
			p.Watched(at(19), at(26))
			p.Rest([]Pod{pod(25)})
		}, nil},
		{"unwatched may leave a pod behind", func(p *play) {
			p.Rest([]Pod{pod(22)})
		}, nil},
		{"unwatched in the beginning may leave a pod behind", func(p *play) {
			p.Watched(at(21), at(26))
			p.Rest([]Pod{pod(22)})
		}, nil},
		{"unwatched in the end may leave a pod behind", func(p *play) {
			p.Watched(at(19), at(24))
			p.Rest([]Pod{pod(22)})
		}, nil},
		{"unwatched leaves no pod behind if the record had the other", func(p *play) {
			p.see(21.5, func(s *Sight) { s.Record = record("second") })
			p.see(26, func(s *Sight) { s.Record = record("first") })
			p.Rest([]Pod{pod(22)})
		}, []string{Lost}},
		{"unwatched leaves no pod behind if the last is another", func(p *play) {
			p.edit(30, "a=3 b=1")
			p.Rest([]Pod{pod(22)})
		}, []string{Lost}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlay(Options{Lag: 5 * time.Second, Stall: 10 * time.Second}, usesAll)
			p.edit(20, "a=2 b=1")
			p.edit(25, "a=1 b=1")
			c.tell(p)
			p.requireRules(t, c.want...)
		})
	}
}

// The content is another one from 20 on, and the next edit is at 25. The record has the first content all the time.
func TestAContentThatIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		started float64
		next    string // content; empty if the config is deleted
		want    []string
	}{
		"is a reason to restart if a pod has started with it": {22, "", nil},
		"is none if the pods are older":                       {17, "", []string{Needless}},
		"is none if the pods are younger":                     {31, "", []string{Needless}},
		"is none if there is another one to record":           {22, "a=3 b=1", []string{Needless}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(Options{Lag: 5 * time.Second, Stall: 10 * time.Second}, usesAll)
			p.ignored = Lost
			p.edit(20, "a=2 b=1")
			p.edit(25, c.next)
			p.podStarts(c.started)
			p.restart(33, "first")
			p.requireRules(t, c.want...)
		})
	}
}

func TestARecordOfAContentThatCameBackIsNews(t *testing.T) {
	for name, c := range map[string]struct {
		recorded float64 // when the content was recorded that had gone by then
		want     []string
	}{
		"if a stalled watch can show it so late": {34, nil},
		"unless it must have been known":         {37, []string{Needless}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(Options{Lag: 5 * time.Second, Stall: 10 * time.Second}, usesAll)
			p.edit(20, "a=2 b=1")
			p.edit(25, "a=1 b=1")
			p.restart(c.recorded, "second")
			p.restart(c.recorded+1, "first")
			p.rest(c.recorded + 2)
			p.requireRules(t, c.want...)
		})
	}
}
