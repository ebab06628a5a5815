package row

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

const (
	soak     = 1 // ticks
	judging  = 1
	deadline = 3
	longest  = 16
)

var testPolicy = Policy{Soak: soak * time.Second, Judging: judging * time.Second, Deadline: deadline * time.Second, Longest: longest * time.Second}

const workloads = 3

var refs = [workloads]Workload{
	{Kind: "Deployment", Namespace: "n", Name: "w0"}, {Kind: "Deployment", Namespace: "n", Name: "w1"}, {Kind: "Deployment", Namespace: "n", Name: "w2"},
}

const (
	keyA = iota
	keyB
	keys
)

var configs = [keys]names.ConfigRef{{Kind: names.ConfigMap, Namespace: "n", Name: "A"}, {Kind: names.ConfigMap, Namespace: "n", Name: "B"}}

// Values of keys.
const (
	original = iota
	bad      // crashes everybody
	good
	hangs // hangs w2
	fades // makes everybody ready for a moment
	values
)

var contents = func() (all [keys][values]Content) {
	for k := range keys {
		for v := range values {
			all[k][v] = Content{configs[k], fmt.Sprint(v)}
		}
	}
	return all
}()

// Pod templates.
const (
	service = iota
	sleep   // runs, whatever it reads
	broken  // crashes, whatever it reads
)

type simPod struct {
	exists, isOld bool
	template      uint8
	reads         [keys]uint8
	state         PodState
	since         int
	// added are the keys that our restart brought to it: its trouble with them counts.
	added [keys]bool
}

type simWorkload struct {
	pods             [2]simPod
	replicas, wanted uint8
	template         uint8
	rollout          int
	isReleased       bool // it had another template
	isOff, lacksNode bool
	isSick           bool        // its second pod crashes, whatever it reads
	evicts, evicting bool        // our restarts evict its pods; the last restart is one of these
	record           [keys]uint8 // what our last restart brought
	answer           answer      // to the next write

	late       *Entry // the record of a write that is lost, and may arrive; nil if there is none
	lateRecord [keys]uint8

	// entry and recorded are what the next leader would know by the ConfigMap and by the workload, nil if nothing.
	entry, recorded *Entry
	isShown         bool // the workload shows the last write

	// What is true, whatever the table has: the contents that our restarts brought and that are not judged, since when, when
	// it came further last, how many pods ran before, and how many are replaced.
	open           [keys]values8
	since, opened  int
	base, replaced uint8
	isInconclusive bool
	brings         [keys]values8 // what the last restart brings, if it is ours and a pod ran before
}

// values8 is a set of values of a key.
type values8 uint8

// answer is what becomes of a write.
type answer uint8

const (
	accepts answer = iota
	refuses
	loses    // carried out, the answer is lost
	delays   // the answer is lost, and the write may arrive later
	dies     // the leader dies after the entry, before the write
	diesLate // the leader dies after the write
)

type world struct {
	now       int
	values    [keys]uint8
	workloads [workloads]simWorkload
	table     *Table
	broken    [keys][values]uint8 // by workload, as bits
	hurt      uint8               // the same, whoever brought the content
	isExcused bool                // a release hides what our restart does
	isVoid    bool                // the event has not happened
	problem   string
}

func at(tick int) time.Time { return time.Unix(int64(tick), 0) }

// newWorld returns a world in which all is well. w1 may be restarted by eviction.
func newWorld(byEviction bool) *world {
	w := &world{table: New(testPolicy)}
	for i := range w.workloads {
		s := &w.workloads[i]
		s.replicas, s.wanted = 1, 1
		if i == 1 {
			s.replicas, s.wanted, s.evicts = 2, 2, byEviction
		}
		for p := range s.replicas {
			s.pods[p] = simPod{exists: true, state: Ready, since: -longest}
		}
	}
	for k := range keys {
		w.table.Edit(contents[k][0], at(-longest))
	}
	for i := range w.workloads {
		w.table.See(refs[i], w.pods(i), at(0))
	}
	return w
}

func (w *world) clone() *world {
	c := *w
	c.table = w.table.clone()
	return &c
}

func (t *Table) clone() *Table {
	c := &Table{policy: t.policy, rows: make(map[Workload]*Row, len(t.rows)), current: maps.Clone(t.current)}
	rows := make([]Row, 0, workloads)
	for ref, r := range t.rows {
		rows = append(rows, *r)
		row := &rows[len(rows)-1]
		row.contents = slices.Clone(r.contents)
		c.rows[ref] = row
	}
	for _, h := range t.halts {
		c.halts = append(c.halts, &Halt{h.Content, h.IsResumed, slices.Clone(h.failures)})
	}
	return c
}

func (w *world) templateOf(t uint8) Template { return Template{t + 1} }

func (w *world) pods(i int) *Pods {
	s := &w.workloads[i]
	pods := &Pods{Wanted: int(s.replicas), Template: w.templateOf(s.template), Rollout: s.rollout}
	for _, p := range s.pods {
		if !p.exists {
			continue
		}
		pod := Pod{Template: w.templateOf(p.template), State: p.state, Since: at(p.since)}
		if pod.Rollout = s.rollout; p.isOld {
			pod.Rollout--
		}
		if p.state != Unstarted {
			pod.Reads = readsOf[p.reads[0]][p.reads[1]]
		}
		pods.All = append(pods.All, pod)
	}
	return pods
}

var readsOf = func() (all [values][values][]Content) {
	for a := range values {
		for b := range values {
			all[a][b] = []Content{contents[keyA][a], contents[keyB][b]}
		}
	}
	return all
}()

// outcome returns how a pod fares.
func outcome(i int, template uint8, reads [keys]uint8) PodState {
	switch {
	case template == sleep:
		return Ready
	case template == broken, reads[keyA] == bad, reads[keyB] == bad:
		return Crashing
	case i == 2 && (reads[keyA] == hangs || reads[keyB] == hangs):
		return Starting
	}
	return Ready
}

// outcome returns how a pod of a workload fares.
func (s *simWorkload) outcome(i, index int, p *simPod) PodState {
	if s.isSick && index == 1 {
		return Crashing
	}
	if p.state == Unready && p.fades() {
		return Unready
	}
	return outcome(i, p.template, p.reads)
}

func (p *simPod) fades() bool { return p.template == service && p.reads[keyA] == fades }

// tick lets time pass: first for the cluster, then for the controller.
func (w *world) tick() {
	w.now++
	for i := range w.workloads {
		w.movePods(i)
	}
	w.watch()
	for i := range w.workloads {
		w.control(i)
	}
}

// movePods replaces one pod at a time, and goes on when the new one runs. Pods that do not run anyway are replaced at once.
func (w *world) movePods(i int) {
	s := &w.workloads[i]
	allRun, replaced := true, false
	for p := range s.pods {
		pod := &s.pods[p]
		if !pod.exists {
			continue
		}
		switch pod.state {
		case Unstarted:
			if !s.lacksNode {
				pod.start(w, i, p)
			}
		case Ready:
			if pod.fades() && w.now > pod.since {
				pod.become(Unready, w.now)
			}
		case Unready:
			pod.become(s.outcome(i, p, pod), w.now)
		case Crashing:
			for k := range keys {
				pod.added[k] = pod.added[k] && pod.reads[k] == w.values[k]
			}
			pod.reads = w.values
			pod.become(s.outcome(i, p, pod), w.now)
		}
		allRun = allRun && (pod.isOld || pod.state == Ready)
	}
	mayReplace := !s.evicting || w.table.MayEvict(refs[i], w.pods(i))
	for p := range int(s.replicas) {
		pod := &s.pods[p]
		switch {
		case !pod.exists:
		case pod.isOld && mayReplace && (pod.state != Ready || allRun && !replaced):
			replaced = replaced || pod.state == Ready
		default:
			continue
		}
		*pod = simPod{exists: true, template: s.template, since: w.now}
		if !s.lacksNode {
			pod.start(w, i, p)
		}
	}
}

// start lets the containers of a pod read their configs.
func (p *simPod) start(w *world, i, index int) {
	p.reads = w.values
	s := &w.workloads[i]
	for k := range keys {
		p.added[k] = s.brings[k]&(1<<w.values[k]) != 0
	}
	p.state, p.since = s.outcome(i, index, p), w.now
}

func (p *simPod) become(state PodState, now int) {
	if p.state != state {
		p.state, p.since = state, now
	}
}
