package model

import (
	"strings"
	"testing"
	"time"
)

var (
	start    = time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)
	settings = ConfigRef{"configmap", "ns/settings"}
	web      = WorkloadRef{"Deployment", "ns/web"}
	usesAll  = []Use{{Config: settings}}
)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// play is a story that goes well unless a test makes it go wrong: a workload is made at
// 0, recorded at 1, its config changes at 20 and it restarts at 21.
type play struct {
	*Model
	sight   Sight
	version uint64
	ignored string // a rule that a test leaves out
}

func newPlay(options Options, uses []Use) *play {
	p := &play{Model: New(options), sight: Sight{
		Workload: web, UID: "1", Created: at(0), Enabled: true, WantsPods: true, Template: "t", Uses: uses,
	}}
	p.edit(-60, "a=1 b=1")
	p.see(0, func(*Sight) {})
	p.see(1, func(s *Sight) { s.Record = record("first") })
	return p
}

func record(label string) map[string]string {
	return map[string]string{"configmap/ns/settings": label}
}

// edit writes the config; an empty content deletes it.
func (p *play) edit(seconds float64, content string) {
	edit := Edit{Begin: at(seconds), End: at(seconds + 0.01), Config: settings, What: "edit " + content}
	if content != "" {
		edit.Content = map[string]string{}
		for pair := range strings.FieldsSeq(content) {
			key, value, _ := strings.Cut(pair, "=")
			edit.Content[key] = value
		}
	}
	p.Configure(edit)
}

func (p *play) see(seconds float64, change func(*Sight)) {
	change(&p.sight)
	p.version++
	p.sight.At, p.sight.Version = at(seconds), p.version
	p.See(p.sight)
}

func (p *play) restart(seconds float64, label string) {
	p.see(seconds, func(s *Sight) { s.RestartedAt, s.Record = at(seconds), record(label) })
}

// strip takes the restart timestamp away, which takes a moment.
func (p *play) strip(seconds float64) {
	p.Revert(Revert{Begin: at(seconds), End: at(seconds + 0.01), Workload: web})
	p.see(seconds, func(s *Sight) { s.RestartedAt = time.Time{} })
}

// rest ends the play with a pod that was created then.
func (p *play) rest(podCreated float64) {
	p.Rest([]Pod{{Name: "pod", Workload: web, Created: at(podCreated).Truncate(time.Second)}})
}

func (p *play) requireRules(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, v := range p.Verdict() {
		if v.Rule == p.ignored {
			continue
		}
		got = append(got, v.Rule)
		if v.Workload.Kind == "" || v.At.IsZero() || v.What == "" {
			t.Errorf("a violation that does not tell everything: %+v", v)
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("the verdict is %q, want %q:\n%v\n%s", got, want, p.Verdict(), p.Story(web))
	}
}

func TestAStory(t *testing.T) {
	onlyA := []Use{{Config: settings, Keys: []string{"a"}}}
	optional := []Use{{Config: settings, Optional: true}}
	lag := Options{Lag: 5 * time.Second, Stall: 10 * time.Second}
	for _, c := range []struct {
		name string
		uses []Use // usesAll if it is nil
		tell func(p *play)
		want []string
	}{
		{"in which a change is followed by a restart is fine", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
			p.rest(22)
		}, nil},
		{"in which several changes share a restart is fine", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.edit(20.5, "a=2 b=2")
			p.restart(21, "second")
			p.rest(22)
		}, nil},
		{"in which nothing restarts after a change is one of a loss", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.rest(1)
		}, []string{Lost}},
		{"in which a change comes after the restart is one of a loss", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
			p.edit(30, "a=3 b=1")
			p.rest(22)
		}, []string{Lost}},
		{"in which a pod is made before a change and starts after it is fine", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.Rest([]Pod{{Name: "slow", Workload: web, Created: at(10), Started: at(25)}})
		}, nil},
		{"in which one pod of two was left behind is one of a loss", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
			p.Rest([]Pod{{Name: "new", Workload: web, Created: at(22)}, {Name: "old", Workload: web, Created: at(1)}})
		}, []string{Lost}},
		{"in which the pods were replaced anyway is fine", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.rest(22)
		}, nil},
		{"in which a pod may have read either content is fine", nil, func(p *play) {
			p.edit(20.8, "a=2 b=1")
			p.rest(20)
		}, nil},
		{"in which a key changes that no pod sees is fine", onlyA, func(p *play) {
			p.edit(20, "a=1 b=2")
			p.rest(1)
		}, nil},
		{"in which a key changes that all pods of its kind see is one of a loss", []Use{{Config: settings, Keys: []string{"data/"}}}, func(p *play) {
			p.edit(20, "data/new=2 other/b=1")
			p.rest(1)
		}, []string{Lost}},
		{"in which a change is made before the opt-in is fine", nil, func(p *play) {
			p.see(10, func(s *Sight) { s.Enabled = false })
			p.edit(20, "a=2 b=1")
			p.see(30, func(s *Sight) { s.Enabled = true })
			p.rest(1)
		}, nil},
		{"in which a change is made after the opt-in is one of a loss", nil, func(p *play) {
			p.see(10, func(s *Sight) { s.Enabled = false })
			p.see(20, func(s *Sight) { s.Enabled = true })
			p.edit(30, "a=2 b=1")
			p.rest(1)
		}, []string{Lost}},
		{"in which a workload opted out at last is fine", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.see(20.5, func(s *Sight) { s.Enabled = false })
			p.rest(1)
		}, nil},
		{"in which a config is deleted is fine", nil, func(p *play) {
			p.edit(20, "")
			p.rest(1)
		}, nil},
		{"in which a config comes back with other content is one of a loss", nil, func(p *play) {
			p.edit(20, "")
			p.edit(30, "a=2 b=1")
			p.rest(1)
		}, []string{Lost}},
		{"in which a pod waited for a config is fine", nil, func(p *play) {
			p.edit(20, "")
			p.edit(30, "a=2 b=1")
			p.rest(25)
		}, nil},
		{"in which a pod started without an optional config is one of a loss", optional, func(p *play) {
			p.edit(20, "")
			p.edit(30, "a=2 b=1")
			p.rest(25)
		}, []string{Lost}},

		{"in which nothing changed before a restart is one of a needless restart", nil, func(p *play) {
			p.restart(21, "second")
			p.rest(22)
		}, []string{Needless}},
		{"in which only a key changed that no pod sees is one of a needless restart", onlyA, func(p *play) {
			p.edit(20, "a=1 b=2")
			p.restart(21, "second")
			p.rest(22)
		}, []string{Needless}},
		{"in which one change leads to two restarts is one of a needless restart", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
			p.restart(22, "third")
			p.rest(23)
		}, []string{Needless}},
		{"in which the record says the same after a restart is one of a needless restart", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.restart(21, "first")
			p.rest(22)
		}, []string{Needless}},
		{"in which a content came back that no pod sees is one of a needless restart", onlyA, func(p *play) {
			p.edit(20, "a=1 b=2")
			p.podStarts(20)
			p.edit(20.5, "a=1 b=1")
			p.restart(21, "first")
			p.rest(22)
		}, []string{Needless}},
		{"in which a pod starts while an optional config is gone is fine", optional, func(p *play) {
			p.edit(20, "")
			p.podStarts(20)
			p.edit(20.5, "a=1 b=1")
			p.restart(21, "first")
			p.rest(22)
		}, nil},
		{"in which a pod started between edits whose config is gone is fine", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.podStarts(30)
			p.edit(40, "a=3 b=1")
			p.edit(41, "a=2 b=1")
			p.edit(50, "")
			p.restart(80, "first")
			p.rest(81)
		}, nil},
		{"in which a required config was gone for a while is one of a needless restart", nil, func(p *play) {
			p.edit(20, "")
			p.podStarts(20)
			p.edit(20.5, "a=1 b=1")
			p.restart(21, "first")
			p.rest(22)
		}, []string{Needless}},
		{"in which the pods are asked since the record is of others is fine", nil, func(p *play) {
			p.see(10, func(s *Sight) { s.Template = "u" })
			p.edit(20, "a=2 b=1")
			p.restart(21, "first")
			p.rest(22)
		}, nil},
		{"in which a change was recorded and then restarted for is fine if it was learned of late", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.see(23, func(s *Sight) { s.Record = record("half") })
			p.restart(24, "second")
			p.rest(25)
		}, nil},
		{"in which a stalled watch showed a change later than the next record is fine", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.see(28, func(s *Sight) { s.Record = record("half") })
			p.restart(29, "second")
			p.rest(30)
		}, nil},
		{"in which it restarts for what was recorded before is one of a needless restart", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.see(28, func(s *Sight) { s.Record = record("half") })
			p.restart(29, "first")
			p.rest(30)
		}, []string{Needless}},
		{"in which a change was recorded long before is one of a needless restart", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.see(33, func(s *Sight) { s.Record = record("half") })
			p.restart(34, "second")
			p.rest(35)
		}, []string{Needless}},

		{"in which a workload restarts that has opted out is one of a breach", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.see(20.5, func(s *Sight) { s.Enabled = false })
			p.restart(21, "second")
		}, []string{NotEnabled}},
		{"in which a workload is recorded that has opted out is one of a breach", nil, func(p *play) {
			p.see(20, func(s *Sight) { s.Enabled = false })
			p.see(21, func(s *Sight) { s.Record = record("second") })
		}, []string{NotEnabled}},
		{"in which nobody could see what was first is not judged", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.see(20.5, func(s *Sight) { s.Enabled = false })
			p.see(30, func(s *Sight) { s.Listed, s.RestartedAt, s.Record = true, at(21), record("second") })
		}, nil},
		{"of a workload that is made again begins anew", nil, func(p *play) {
			p.edit(20, "a=2 b=1")
			p.Gone(web, at(21))
			p.see(22, func(s *Sight) { s.UID, s.Created, s.Record = "2", at(22), nil })
			p.see(23, func(s *Sight) { s.Record = record("second") })
			p.rest(22)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.uses == nil {
				c.uses = usesAll
			}
			p := newPlay(lag, c.uses)
			c.tell(p)
			p.requireRules(t, c.want...)
		})
	}
}

func TestRecordsOfTheSameContentMustAgree(t *testing.T) {
	p := newPlay(Options{}, usesAll)
	other := p.sight
	other.Workload.Name = "ns/other"
	other.Record = record("first")
	p.See(other)
	p.requireRules(t)
	other.Version, other.Record = 9, record("something else")
	p.See(other)
	p.requireRules(t, Disagreeing)
	other.Version, other.Record = 10, nil
	p.See(other)
	p.requireRules(t, Disagreeing)
	other.Version, other.Enabled = 11, false
	p.See(other)
	p.requireRules(t)
}

func TestAChangeIsAnsweredInTime(t *testing.T) {
	for name, c := range map[string]struct {
		tell func(p *play)
		want []string
	}{
		"by a restart": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.restart(40, "second")
		}, nil},
		"by a record alone": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.see(40, func(s *Sight) { s.Record = record("second") })
		}, nil},
		"or not, and a later one was": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.edit(100, "a=3 b=1")
			p.restart(101, "third")
		}, []string{Overlooked}},
		"unless the workload was opted out": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.see(30, func(s *Sight) { s.Enabled = false })
			p.see(60, func(s *Sight) { s.Enabled = true })
			p.edit(100, "a=3 b=1")
			p.restart(101, "third")
		}, nil},
		"unless it was gone": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.Gone(web, at(30))
		}, nil},
		"unless the config was": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.edit(21, "")
			p.edit(100, "a=3 b=1")
			p.restart(101, "third")
		}, nil},
		"unless it was undone": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.edit(22, "a=1 b=1")
			p.edit(100, "a=3 b=1")
			p.restart(101, "third")
		}, nil},
		"unless the play ended": {func(p *play) {
			p.edit(170, "a=2 b=1")
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(Options{Patience: time.Minute}, usesAll)
			c.tell(p)
			p.Note(at(200), "the end")
			p.requireRules(t, c.want...)
		})
	}
}

func TestTheStoryOfAWorkloadIsInTheOrderOfTime(t *testing.T) {
	p := newPlay(Options{}, usesAll)
	p.edit(20, "a=2 b=1")
	p.restart(21, "second")
	p.Note(at(20.5), "the leader is killed")
	p.strip(21.5)
	p.podStarts(21.7)
	p.Watched(at(21.8), at(21.9))
	p.rest(22)
	got := p.Story(web)
	last := -1
	for _, part := range []string{"seen first", "recorded", "edit a=2", "leader is killed", "RESTARTED at 12:00:21", "pod pod is created, starts at 12:00:21",
		"timestamp is taken away", "can see everything", "runs at the end"} {
		i := strings.Index(got, part)
		if i < last {
			t.Errorf("%q is missing or in the wrong place:\n%s", part, got)
		}
		last = i
	}
}
