package gate

import (
	"iter"
	"maps"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Progress is how far a fan-out has come.
type Progress struct {
	FanOut FanOut
	// Since is when its first restart was due.
	Since time.Time
	// Proven is how many workloads run with the content; Delivered is how many of them were restarted
	// for it. UnderWay is how many restarts have begun, and Waiting how many are due; Refused is how many of the latter the
	// API server has refused.
	Proven, Delivered, UnderWay, Waiting, Refused int
	// Unserved is how many workloads have no restart any more: theirs has failed or said nothing, or was no longer
	// due before it began.
	Unserved int
	// Mended is how many more restarts were delivered, to workloads of which no pod ran before.
	Mended int
}

// Done returns how many workloads have the content, whether or not they prove it.
func (p *Progress) Done() int { return p.Proven + p.Mended }

// Total returns how many workloads take part, or did.
func (p *Progress) Total() int { return p.Done() + p.UnderWay + p.Waiting + p.Unserved }

func (f *fanOut) progress() Progress {
	return Progress{
		FanOut: f.id, Since: f.since, Proven: f.proven(), Delivered: f.delivered, UnderWay: f.members - f.waiting - f.unproven,
		Waiting: f.waiting - f.twice, Refused: f.refused, Unserved: len(f.unserved) + f.unlisted + f.unproven, Mended: f.mended,
	}
}

// Progress returns how far all fan-outs have come that are not over, in no particular order.
func (l *Ledger) Progress() iter.Seq[Progress] { return progressOf(maps.Values(l.fanOuts)) }

// ProgressOf does so for the fan-outs of one config.
func (l *Ledger) ProgressOf(config names.ConfigRef) iter.Seq[Progress] {
	return progressOf(maps.Keys(l.byConfig[config]))
}

func progressOf(all iter.Seq[*fanOut]) iter.Seq[Progress] {
	return func(yield func(Progress) bool) {
		for f := range all {
			if !yield(f.progress()) {
				return
			}
		}
	}
}

// maxFinished is how many fan-outs are remembered that are over and have not been taken.
const maxFinished = 1000

// TakeFinished returns the fan-outs of several workloads that have ended since the last call.
func (l *Ledger) TakeFinished() []Progress {
	finished := l.finished
	l.finished = nil
	return finished
}

func (l *Ledger) finish(f *fanOut) {
	if l.fanOuts[f.id] != f {
		return // a workload was part of it twice
	}
	delete(l.fanOuts, f.id)
	if delete(l.byConfig[f.id.Config], f); len(l.byConfig[f.id.Config]) == 0 {
		delete(l.byConfig, f.id.Config)
	}
	if p := f.progress(); p.Total() > 1 && p.Delivered > 0 && len(l.finished) < maxFinished {
		l.finished = append(l.finished, p)
	}
	for ref := range f.unserved {
		f.forget(ref)
	}
}

// Due returns how many restarts of the fan-outs of a config wait.
func (l *Ledger) Due(config names.ConfigRef) int {
	due := 0
	for f := range l.byConfig[config] {
		due += f.waiting - f.twice
	}
	return due
}

// Waiting returns how many restarts wait for each reason.
func (l *Ledger) Waiting() map[Reason]int {
	waiting := make(map[Reason]int, len(Reasons))
	for _, reason := range Reasons {
		waiting[reason] = l.waiting[reason]
	}
	return waiting
}

// FanOuts returns how many fan-outs are not over.
func (l *Ledger) FanOuts() int { return len(l.fanOuts) }

// UnderWay returns how many restarts have begun and are neither delivered nor given up.
func (l *Ledger) UnderWay() int { return l.underWay }

// ActiveHalts returns how many halts stop restarts.
func (l *Ledger) ActiveHalts() int { return l.halts.active }
