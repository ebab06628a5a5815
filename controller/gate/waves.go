package gate

import (
	"cmp"
	"slices"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// waves counts the workloads of a namespace whose restarts are not over, by wave.
type waves struct {
	all []*wave // sorted
}

type wave struct {
	number    int16
	unsettled int
	line      line // those that wait for earlier waves
}

func (l *Ledger) waveOf(namespace string) *waves {
	if l.waves[namespace] == nil {
		l.waves[namespace] = &waves{}
	}
	return l.waves[namespace]
}

func (w *waves) of(number int16) *wave {
	i, found := slices.BinarySearchFunc(w.all, number, func(wave *wave, number int16) int { return cmp.Compare(wave.number, number) })
	if !found {
		w.all = slices.Insert(w.all, i, &wave{number: number})
	}
	return w.all[i]
}

// first returns the earliest wave that is not over, nil if there is none.
func (w *waves) first() *wave {
	for i, wave := range w.all {
		if wave.unsettled > 0 {
			w.all = w.all[i:]
			return wave
		}
	}
	return nil
}

// isAfterWave reports whether restarts of a wave have to wait for earlier waves. It keeps those that are over, of which one may be that
// of the restart itself, which does not count while it is asked about.
func (l *Ledger) isAfterWave(namespace string, number int16) bool {
	w := l.waves[namespace]
	return w != nil && slices.ContainsFunc(w.all, func(earlier *wave) bool { return earlier.number < number && earlier.unsettled > 0 })
}

// Blocker is a workload for which later waves wait.
type Blocker struct {
	// Wave is its wave, the first of the namespace that is not over, and Workload is zero if no wave is under way.
	Wave     int16
	Workload names.WorkloadRef
	// Reason is what it waits for. IsFailing means that it could not begin when it last tried. If it has neither, it rolls or
	// is not decided about.
	Reason    Reason
	IsFailing bool
}

// mostLooks is at how many workloads of a namespace the ledger looks to name one: each that waits may ask, and they may be very many.
const mostLooks = 1000

// Blocker returns a workload for which later waves of a namespace wait. It may find none if there are very many.
func (l *Ledger) Blocker(namespace string) (b Blocker) {
	w := l.waves[namespace]
	if w == nil || w.first() == nil {
		return b
	}
	b.Wave = w.first().number
	looks := 0
	for ref, m := range l.members.In(namespace) {
		if looks++; looks > mostLooks {
			break
		}
		if m.wave != b.Wave || !m.isUnsettled() {
			continue
		}
		switch {
		case m.next != nil && m.next.phase == waiting:
			b.Workload, b.Reason, b.IsFailing = ref, m.next.reason(), false
			return b
		case m.next != nil && m.next.phase == failing:
			b.Workload, b.IsFailing = ref, true
		case !b.IsFailing:
			b.Workload = ref
		}
	}
	return b
}

// callWave calls those that wait for their wave if it has begun.
func (l *Ledger) callWave(namespace string) {
	w := l.waves[namespace]
	if w == nil {
		return
	}
	first := w.first()
	if first == nil {
		delete(l.waves, namespace)
		return
	}
	l.callAll(&first.line)
}
