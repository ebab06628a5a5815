package model

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// ConfigRef names a ConfigMap or Secret, Name with its namespace.
type ConfigRef struct{ Kind, Name string }

// WorkloadRef names a workload, Name with its namespace.
type WorkloadRef struct{ Kind, Name string }

// Use says what the pods of a workload can see of a config.
type Use struct {
	Config   ConfigRef
	Keys     []string // nil for all of them; "data/" stands for all keys that begin so
	Optional bool     // pods start without the config, too
}

// Edit is one write of a config, whole. It took effect between Begin and End.
type Edit struct {
	Begin, End time.Time
	Config     ConfigRef
	Content    map[string]string // nil if it was deleted
	What       string            // for the story
}

// Sight is a workload as it was at one resource version. Listed means that it comes
// from a list, so that versions before it may have been missed.
type Sight struct {
	At          time.Time
	Version     uint64
	Listed      bool
	Workload    WorkloadRef
	UID         string
	Created     time.Time
	Enabled     bool
	WantsPods   bool
	Paused      bool
	RestartedAt time.Time         // zero for never
	InSeconds   bool              // RestartedAt is the end of the second in which it was; otherwise it is exact
	ByPods      bool              // only the pods show how far a restart is, and Whole says nothing
	Record      map[string]string // by the names that the record has for configs
	Template    string            // anything that differs where pod templates do, the timestamp left out
	Uses        []Use
	Rollout     Rollout // of a Deployment
	Terms       Terms
	Wave        int
	Whole       bool // the status says that all pods are those of the template, and run
}

// Pod is a pod of a workload.
type Pod struct {
	Name     string
	Workload WorkloadRef
	// Created is in whole seconds, rounded down. So is Started, the time at which its last
	// container started, zero if that is not known.
	Created, Started time.Time
	// RestartedAt is the restart timestamp of the template that the pod was made from, zero for none.
	RestartedAt time.Time
	// Gone is when the pod was seen to be gone, zero if it was not.
	Gone time.Time
}

// Violation is a way in which a workload went wrong.
type Violation struct {
	Workload WorkloadRef
	Rule     string
	At       time.Time
	What     string
}

// Options say how to judge.
type Options struct {
	// Lag is how long after a change the controller may learn of it, and Stall how long if
	// its watch stalls. That excuses a restart only if its record has what no record
	// had before.
	Lag, Stall time.Duration
	// Patience is how long the record of a change may take in coming; 0 is for ever.
	Patience time.Duration
	// Budget is nil where restarts are not spaced out.
	Budget *Budget
	// Gate has no limit where restarts all begin at once.
	Gate Gate
}

// Model collects what happened.
type Model struct {
	options   Options
	configs   map[ConfigRef][]Edit
	workloads map[WorkloadRef]*history
	sets      map[string][]SetSight // by the UID of their Deployment
	gaps      []gap
	watched   []span
	away      []span
	terms     map[ConfigRef][]TermsEdit
	timeline  timeline
	halts     map[string]*halt // by their ids
	resumes   map[string]Resume
	rolls     []roll
	notes     []note
	pods      []Pod // that run at the end
	tally     Tally
}

// history is what was seen of the workloads of one name, in order. Only sights that
// tell something new are kept, and those with another generation observed.
type history struct {
	sights  []Sight
	gone    []note
	reverts []Revert
	pods    map[podKey]Pod
}

type note struct {
	at   time.Time
	what string
}

// New returns an empty model.
func New(options Options) *Model {
	return &Model{
		options: options, configs: map[ConfigRef][]Edit{}, workloads: map[WorkloadRef]*history{}, sets: map[string][]SetSight{},
		terms: map[ConfigRef][]TermsEdit{}, halts: map[string]*halt{}, resumes: map[string]Resume{},
	}
}

// Configure takes in an edit. Edits of one config must come in order.
func (m *Model) Configure(e Edit) { m.configs[e.Config] = append(m.configs[e.Config], e) }

// See takes in a workload. Sights of one name must come in order; of one workload those
// that come too late are ignored.
func (m *Model) See(s Sight) {
	m.timeline.see(s.Version, s.At, s.Listed)
	h := m.history(s.Workload)
	if n := len(h.sights); n > 0 && h.sights[n-1].UID == s.UID && (h.sights[n-1].Version >= s.Version || h.sights[n-1].says(&s)) {
		return
	}
	h.sights = append(h.sights, s)
}

func (m *Model) history(ref WorkloadRef) *history {
	h, found := m.workloads[ref]
	if !found {
		h = &history{}
		m.workloads[ref] = h
	}
	return h
}

// says reports whether a later sight has nothing to add.
func (s *Sight) says(later *Sight) bool {
	return s.Enabled == later.Enabled && s.WantsPods == later.WantsPods && s.Paused == later.Paused &&
		s.RestartedAt.Equal(later.RestartedAt) && s.Template == later.Template && s.Rollout == later.Rollout &&
		s.Terms == later.Terms && s.Wave == later.Wave && s.Whole == later.Whole && maps.Equal(s.Record, later.Record)
}

// Gone takes in that a workload does not exist any more.
func (m *Model) Gone(ref WorkloadRef, at time.Time) {
	h := m.history(ref)
	h.gone = append(h.gone, note{at, "deleted"})
}

// RestartedAt returns the restart timestamp that a workload had when it was seen last, zero if none.
func (m *Model) RestartedAt(ref WorkloadRef) time.Time {
	if h := m.history(ref); h.exists() {
		return h.sights[len(h.sights)-1].RestartedAt
	}
	return time.Time{}
}

func (h *history) exists() bool {
	if len(h.sights) == 0 {
		return false
	}
	last := h.sights[len(h.sights)-1]
	return len(h.gone) == 0 || h.gone[len(h.gone)-1].at.Before(last.At)
}

// Rest takes in the pods that run at the end.
func (m *Model) Rest(pods []Pod) {
	m.pods = pods
	for _, pod := range pods {
		m.SeePod(pod)
	}
}

// Note takes in what concerns all stories: that a process was killed, say.
func (m *Model) Note(at time.Time, what string) { m.notes = append(m.notes, note{at, what}) }

// Tally counts what is right, and rare.
type Tally struct {
	Again      int // restarts after a revert, that record nothing new
	Returned   int // restarts of pods that started while the content was another one, that record nothing new
	Unknowable int // pods that have read something else at the end, which nobody could know
	Rolling    int // restarts that rolled at the same time, at most
}

// Tally returns what the last verdict has counted.
func (m *Model) Tally() Tally { return m.tally }

// Verdict judges everything, and returns what went wrong in the order of time.
func (m *Model) Verdict() []Violation {
	var found []Violation
	m.tally = Tally{}
	m.rolls = m.allRolls()
	for ref, h := range m.workloads {
		for _, life := range h.lives() {
			found = append(found, m.judgeWrites(ref, life)...)
			found = append(found, m.judgeRestarts(ref, life)...)
			found = append(found, m.judgeBounds(ref, life)...)
			found = append(found, m.judgeDelays(ref, life)...)
			found = append(found, m.judgeHeld(ref, life)...)
			found = append(found, m.judgeHalts(ref, life)...)
		}
	}
	found = append(found, m.judgeRolls()...)
	found = append(found, m.judgePods()...)
	found = append(found, m.judgeRecords()...)
	slices.SortStableFunc(found, func(a, b Violation) int { return a.At.Compare(b.At) })
	return found
}

// lives splits the sights of a name where the workload was made again.
func (h *history) lives() (lives [][]Sight) {
	begin := 0
	for i := range h.sights {
		if i > begin && h.sights[i].UID != h.sights[begin].UID {
			lives = append(lives, h.sights[begin:i])
			begin = i
		}
	}
	if begin < len(h.sights) {
		lives = append(lives, h.sights[begin:])
	}
	return lives
}

// visible is what pods see of an edit's content.
func (u *Use) visible(content map[string]string) string {
	var seen []byte
	for _, key := range slices.Sorted(maps.Keys(content)) {
		if u.Sees(key) {
			seen = append(seen, key+"="+content[key]+"\n"...) // values of the soak have no line breaks
		}
	}
	return string(seen)
}

// Sees reports whether the pods see a key.
func (u *Use) Sees(key string) bool {
	return u.Keys == nil || slices.ContainsFunc(u.Keys, func(pattern string) bool {
		return key == pattern || strings.HasSuffix(pattern, "/") && strings.HasPrefix(key, pattern)
	})
}

// changes returns the edits of a config that change what the pods see. That a config
// appears is a change, that it disappears is not: its pods go on with what they have.
func (m *Model) changes(u *Use) (changes []Edit) {
	last, known := "", false
	for _, e := range m.configs[u.Config] {
		if e.Content == nil {
			continue
		}
		if now := u.visible(e.Content); !known || now != last {
			changes = append(changes, e)
			last, known = now, true
		}
	}
	return changes
}

// countRestarts counts the restarts in a life.
func countRestarts(life []Sight) (count int) {
	for i := 1; i < len(life); i++ {
		if life[i].restartedSince(&life[i-1]) {
			count++
		}
	}
	return count
}

// Restarts counts the restarts that were seen.
func (m *Model) Restarts() (count int) {
	for ref := range m.workloads {
		count += m.RestartsOf(ref)
	}
	return count
}

// RestartsOf counts those of one workload.
func (m *Model) RestartsOf(ref WorkloadRef) (count int) {
	for _, life := range m.history(ref).lives() {
		count += countRestarts(life)
	}
	return count
}

// recordsAnew reports whether a sight shows another record than the one before.
func recordsAnew(before, s *Sight) bool { return !maps.Equal(s.Record, before.Record) }

func (s *Sight) restartedSince(before *Sight) bool {
	return !s.RestartedAt.IsZero() && !s.RestartedAt.Equal(before.RestartedAt)
}
