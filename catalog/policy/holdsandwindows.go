package policy

import (
	"iter"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Wishes are what people ask of a restart that is due: holds and windows. Which of them apply is decided here
// only, for the controller and for whoever wants to know what it does.
type Wishes struct {
	// Everything is why all restarts are held, empty if they are not.
	Everything string
	// Workload is the policy of the workload, nil if it has none.
	Workload *WorkloadPolicy
	// Delivered yields the configs whose new content the restart brings. It may be asked several times.
	Delivered iter.Seq[Delivery]
}

// Delivery is a config whose new content a restart brings.
type Delivery struct {
	Config names.ConfigRef
	Policy ConfigPolicy
	// IsUrgent means that the present content must not wait.
	IsUrgent bool
	// IsUncertain means that the config may not have changed. Its hold counts, because nobody must get the
	// content; its window does not.
	IsUncertain bool
}

// Wish is a hold or a window.
type Wish struct {
	By Wisher
	// Config is the config that asks for it, if one does.
	Config names.ConfigRef
	// Text is the reason of a hold, or a window as it was written. It is empty for the controller's own window.
	Text string
}

// Wisher is where a wish is written.
type Wisher uint8

// The wishers, in the order in which their holds count.
const (
	// ByController are the hold of all restarts, and the window of the controller's flags.
	ByController Wisher = iota
	// ByWorkload and ByConfig are annotations.
	ByWorkload
	ByConfig
)

// isHeld stands between who holds a restart and why.
const isHeld = " held: "

// IsWish reports whether a reason for which a restart is held is one of [Wishes.Held], and not how the workload is set up.
func IsWish(reason string) bool { return strings.Contains(reason, isHeld) }

// Held says who holds the restart and why, by the hold that counts; empty if nobody does.
func (w Wishes) Held() string {
	for hold := range w.Holds() {
		return hold.by() + isHeld + hold.Text
	}
	return ""
}

// by names what a hold is written on.
func (w Wish) by() string {
	switch w.By {
	case ByWorkload:
		return "the workload is"
	case ByConfig:
		return "the " + w.Config.NameWithin() + " is"
	case ByController:
	}
	return "all restarts are"
}

// Holds yields all holds, the one that counts first.
func (w Wishes) Holds() iter.Seq[Wish] {
	return func(yield func(Wish) bool) {
		if w.Everything != "" && !yield(Wish{By: ByController, Text: w.Everything}) {
			return
		}
		if w.Workload != nil && w.Workload.Hold != "" && !yield(Wish{By: ByWorkload, Text: w.Workload.Hold}) {
			return
		}
		for d := range w.Delivered {
			if d.Policy.Hold != "" && !yield(Wish{ByConfig, d.Config, d.Policy.Hold}) {
				return
			}
		}
	}
}

// Windows yields the windows in which the restart may begin; all of them must be open. The window of a workload
// takes precedence over those of its changed configs, and these over that of the controller. None applies if
// all that the restart brings is urgent.
func (w Wishes) Windows() iter.Seq[Wish] {
	return func(yield func(Wish) bool) {
		switch {
		case w.isUrgent():
		case w.Workload != nil && w.Workload.Window != "":
			yield(Wish{By: ByWorkload, Text: w.Workload.Window})
		case !w.yieldWindowsOfConfigs(yield):
			yield(Wish{By: ByController})
		}
	}
}

// yieldWindowsOfConfigs reports whether there are any.
func (w Wishes) yieldWindowsOfConfigs(yield func(Wish) bool) (hasAny bool) {
	for d := range w.Delivered {
		if d.IsUncertain || d.Policy.Window == "" {
			continue
		}
		if hasAny = true; !yield(Wish{ByConfig, d.Config, d.Policy.Window}) {
			break
		}
	}
	return hasAny
}

func (w Wishes) isUrgent() bool {
	isUrgent := false
	for d := range w.Delivered {
		if isUrgent = d.IsUrgent; !isUrgent {
			break
		}
	}
	return isUrgent
}

// Closed names the first window that keeps the restart from beginning, empty if none does, and says when that ends. The time
// is zero if that is not known; the text says why. The argument reports whether one window is closed, when it opens, and why
// it cannot be read.
func (w Wishes) Closed(isClosed func(Wish) (bool, time.Time, error)) (window string, opens time.Time) {
	for window := range w.Windows() {
		switch closed, opens, err := isClosed(window); {
		case err != nil:
			return window.whose() + " cannot be read: " + err.Error(), time.Time{}
		case closed && opens.IsZero():
			return window.whose() + " does not open within five years", opens
		case closed:
			return window.whose(), opens
		}
	}
	return "", time.Time{}
}

// whose names a window by what it is written on, for those who wait for it.
func (w Wish) whose() string {
	switch w.By {
	case ByWorkload:
		return "its window"
	case ByConfig:
		return "the window of " + w.Config.NameWithin()
	case ByController:
	}
	return "the window of --restart-window"
}
