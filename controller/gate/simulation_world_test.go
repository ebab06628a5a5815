package gate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// fleet is a cluster of workloads that read configs, in which things happen at random. It is what the
// ledger's answers are compared with, so it remembers what really happened.
type fleet struct {
	tally
	timeline
	random *rand.Rand
	isLoud bool
	story  []string
	// problem is the first rule that was broken.
	problem string

	policy  Policy
	isOff   bool // everything is all at once, and nobody asks for anything else
	isQuiet bool // nothing fails any more but for bad content
	configs []*simConfig
	apps    []*app
	moment  names.Sequence
	halts   []*trueHalt
	stored  []Halt // what a new leader can read
	leader  *leader
}

// simConfig is a ConfigMap or, if its keys are not named, a Secret.
type simConfig struct {
	ref       names.ConfigRef
	keys      []*simKey
	isSecret  bool
	isGradual bool
	isUrgent  bool
	isHeld    bool
}

type simKey struct {
	name    string
	content *content
	past    []*content
	moment  names.Sequence
}

// content breaks each workload whose number is 0 modulo breaks, none if that is 0.
type content struct {
	number, breaks int
}

func (c *content) isBadFor(a *app) bool {
	return c.breaks > 0 && a.number%c.breaks == 0 && !a.immune[c]
}

// app is a workload.
type app struct {
	number int
	ref    names.WorkloadRef
	wave   int16
	reads  []*simKey
	of     map[*simKey]*simConfig
	// recorded is the content that the record has, previous that of the record before.
	recorded, previous map[*simKey]*content
	immune             map[*content]bool
	isUnwell           bool
	lacksPods          bool // and some run
	cannotRoll         bool
	isSlow             bool
	isHeld             bool
	isGone             bool
	isBroken           bool // its last restart failed, and it does not run yet
	closedUntil        time.Time
	slowedUntil        time.Time
	refusals           int // how many requests will be refused
	rollout            *simRollout
}

func (a *app) String() string { return a.ref.Namespace + "/" + a.ref.Name }

// simRollout is a restart that the API server accepted, until it is over for the leader, too.
type simRollout struct {
	request    *Request
	contents   map[*simKey]*content
	began      time.Time
	stamp      time.Time // the same by the clock of the leader that began it
	takesPlace bool
	isShown    bool // to the leader
	isSoaking  bool
	outcome    outcome
}

func (r *simRollout) holdsPlace() bool {
	return r != nil && r.takesPlace && !r.isSoaking && r.outcome == open
}

type outcome uint8

const (
	open outcome = iota
	delivered
	failed
	neutral
)

func newFleet(seed, number uint64) *fleet {
	f := &fleet{random: rand.New(rand.NewPCG(seed, number)), timeline: timeline{now: start}}
	f.isOff = f.chance(8)
	f.policy = Policy{Gradual: !f.isOff && !f.chance(5), Limit: 1 + f.random.IntN(6), Failures: max(0, f.random.IntN(5)-2), Deadline: 5 * time.Minute}
	for i := range 1 + f.random.IntN(3) {
		namespace := string(rune('a' + i))
		var configs []*simConfig
		for j := range 1 + f.random.IntN(3) {
			configs = append(configs, f.newConfig(namespace, "c"+strconv.Itoa(j)))
		}
		for range 1 + f.random.IntN(10) {
			f.addApp(namespace, configs)
		}
		f.configs = append(f.configs, configs...)
	}
	return f
}

// chance reports true one time out of n.
func (f *fleet) chance(n int) bool { return f.random.IntN(n) == 0 }

// upTo returns a random duration of at most d, in milliseconds.
func (f *fleet) upTo(d time.Duration) time.Duration {
	return time.Duration(1+f.random.Int64N(d.Milliseconds())) * time.Millisecond
}

func (f *fleet) say(format string, args ...any) {
	if f.isLoud {
		f.story = append(f.story, fmt.Sprintf("%8.3f ", f.now.Sub(start).Seconds())+fmt.Sprintf(format, args...))
	}
}

func (f *fleet) newConfig(namespace, name string) *simConfig {
	c := &simConfig{
		ref:      names.ConfigRef{Kind: names.ConfigMap, Namespace: namespace, Name: name},
		isSecret: f.chance(5), isGradual: f.policy.Gradual && !f.chance(8) || !f.isOff && !f.policy.Gradual && f.chance(2),
	}
	for i := range 1 + f.random.IntN(3) {
		c.keys = append(c.keys, &simKey{name: "k" + strconv.Itoa(i), content: &content{}})
	}
	return c
}

func (f *fleet) addApp(namespace string, configs []*simConfig) {
	number := len(f.apps)
	a := &app{
		number: number, ref: workload(namespace, "w"+strconv.Itoa(number)), isSlow: f.chance(8), isUnwell: f.chance(10), lacksPods: f.chance(8), cannotRoll: f.chance(12),
		of: map[*simKey]*simConfig{}, recorded: map[*simKey]*content{}, immune: map[*content]bool{},
	}
	if !f.isOff && f.chance(4) {
		a.wave = int16(f.random.IntN(3) - 1)
	}
	for _, c := range configs {
		for _, k := range c.keys {
			if f.chance(2) || len(a.reads) == 0 {
				a.reads = append(a.reads, k)
				a.of[k], a.recorded[k] = c, k.content
			}
		}
	}
	f.apps = append(f.apps, a)
}

// readers returns the workloads that read one of the keys.
func (f *fleet) readers(keys []*simKey) (readers []*app) {
	for _, a := range f.apps {
		if !a.isGone && slices.ContainsFunc(a.reads, func(k *simKey) bool { return slices.Contains(keys, k) }) {
			readers = append(readers, a)
		}
	}
	return readers
}

// changed returns the keys whose content the workload has not been restarted for.
func (a *app) changed() []*simKey { return a.changedSince(a.recorded) }

func (a *app) changedSince(record map[*simKey]*content) (changed []*simKey) {
	for _, k := range a.reads {
		if record[k] != k.content {
			changed = append(changed, k)
		}
	}
	return changed
}

// shownRecord returns the record that the leader knows.
func (a *app) shownRecord() map[*simKey]*content {
	if a.rollout != nil && !a.rollout.isShown {
		return a.previous
	}
	return a.recorded
}

func (a *app) isDue() bool { return !a.isGone && len(a.changed()) > 0 }

// causes returns what a restart for these keys delivers. Moments up to known were not shown to the leader.
func (a *app) causes(changed []*simKey, known names.Sequence) (causes []Cause) {
	for _, k := range changed {
		c := a.of[k]
		i := slices.IndexFunc(causes, func(cause Cause) bool { return cause.Config == c.ref })
		if i < 0 {
			i = len(causes)
			causes = append(causes, Cause{Config: c.ref, IsGradual: c.isGradual, IsUrgent: c.isUrgent})
		}
		moment := k.moment
		if moment <= known {
			moment = 0
		}
		if !slices.Contains(causes[i].Moments, moment) {
			causes[i].Moments = append(causes[i].Moments, moment)
		}
		if !c.isSecret {
			causes[i].Keys = append(causes[i].Keys, k.name)
		}
	}
	return causes
}

func (f *fleet) config(ref names.ConfigRef) *simConfig {
	return f.configs[slices.IndexFunc(f.configs, func(c *simConfig) bool { return c.ref == ref })]
}

// id identifies the content of the named keys, of all if there are none.
func (c *simConfig) id(keys []string, contents map[*simKey]*content) string {
	var id strings.Builder
	for _, k := range c.keys {
		if len(keys) > 0 && !slices.Contains(keys, k.name) {
			continue
		}
		present := k.content
		if contents[k] != nil {
			present = contents[k]
		}
		id.WriteString(k.name + "=" + strconv.Itoa(present.number) + ",")
	}
	return id.String()
}

// accept is what happens when the API server accepts a restart.
func (f *fleet) accept(a *app, p *patch) {
	r, contents := p.request, p.contents
	a.previous, a.recorded = a.recorded, contents
	if r.CannotRoll || a.cannotRoll {
		a.rollout = nil
		return
	}
	f.restarts++
	rollout := &simRollout{request: r, contents: contents, began: p.began, stamp: p.stamp, takesPlace: f.takesPlace(r)}
	heldPlace := a.rollout.holdsPlace()
	if a.rollout, a.isBroken = rollout, false; rollout.takesPlace && !heldPlace {
		f.checkLimit()
	}
	isBad := slices.ContainsFunc(a.reads, func(k *simKey) bool { return contents[k].isBadFor(a) }) || !f.isQuiet && f.chance(25)
	switch {
	case isBad:
		f.after(time.Minute+f.upTo(2*time.Minute), func() { f.finish(a, rollout, failed) })
		return
	case a.isUnwell:
		f.after(f.upTo(time.Minute), func() { f.finish(a, rollout, neutral) })
		return
	}
	f.after(f.rollTime(a), func() {
		if a.rollout == rollout && rollout.outcome == open {
			rollout.isSoaking = true
			f.tell(func(l *leader) { l.noteRolled(a) })
			f.after(30*time.Second, func() { f.finish(a, rollout, delivered) })
		}
	})
}

func (f *fleet) rollTime(a *app) time.Duration {
	if a.isSlow && !f.isQuiet {
		return f.upTo(10 * time.Minute)
	}
	return f.upTo(time.Minute)
}

func (f *fleet) takesPlace(r *Request) bool {
	return f.policy.Gradual || slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.IsGradual })
}

// finish ends a restart, and the leader sees it.
func (f *fleet) finish(a *app, rollout *simRollout, how outcome) {
	if a.rollout != rollout || rollout.outcome != open || a.isGone {
		return
	}
	rollout.outcome = how
	a.isBroken = how == failed
	f.tell(func(l *leader) { l.judge(a) })
}

// tell lets the leader know, if there is one.
func (f *fleet) tell(news func(*leader)) {
	if f.leader != nil {
		news(f.leader)
	}
}
