package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// Halt stops the restarts that would deliver a content of a config, because that content has broken
// workloads. While the config has another content, the halt is remembered: it holds again when the content comes back.
//
//	few -> active        enough restarts have failed
//	few -> forgotten     the content is gone
//	active -> gone       the config has another content, or is gone
//	gone -> active       the content is back, and nobody has resumed the restarts
//	any -> resumed       by a person
//	resumed -> active    a later restart has failed; the halt gets another id
//	active -> over       a workload that failed runs after all, with the content and the template
//	gone, resumed -> forgotten   there are too many, or nobody could tell that the content is back
type Halt struct {
	// ID is by what a person resumes the restarts. Each halt has another one, even of the same content.
	ID     string
	Config names.ConfigRef
	// Keys are the keys that the failed restarts were for; empty means all. Content identifies these
	// keys and their content.
	Keys    []string
	Content string
	// Key is the id of the key with which Content was made, empty if it was made with none. With another key, the same
	// content has another id.
	Key string
	// Failed are the first workloads that failed. If one of them runs after all, with the template with which it failed, the halt
	// ends. Templates has these, empty if they are not known.
	Failed    []names.WorkloadRef
	Templates []string
	// Evidence is what that one of them showed with which the halt began.
	Evidence Evidence
	// Since is when the halt began. Resumed is when a person resumed the restarts, zero if nobody did:
	// that forgives failures of restarts from before, and no later ones.
	Since, Resumed time.Time

	failures   int
	namespaces map[string]struct{} // in which it failed, for a group: the first ones
	isActive   bool
	isGone     bool // the config has another content
	isUnsure   bool // that was so under a former leader; until this one knows, it holds without being reported
	ends       int  // how often its content has gone
	isFormer   bool // another process began it
	line       line // those that wait for the end
}

// IsFormer reports whether another process began the halt, which may have held restarts before this process began.
func (h *Halt) IsFormer() bool { return h.isFormer }

// IsActive reports whether the halt stops restarts, as far as is known.
func (h *Halt) IsActive() bool { return h.isActive && !h.isUnsure }

// concerns reports whether a restart for a cause delivers content that is halted.
func (h *Halt) concerns(cause *Cause) bool { return decide.ShareKey(h.Keys, cause.Keys) }

// Failure is a restart that failed, as far as one of its configs is concerned.
type Failure struct {
	Workload names.WorkloadRef
	// Config, Keys, Content and Key are those of the [Halt] that may follow.
	Config  names.ConfigRef
	Keys    []string
	Content string
	Key     string
	// Began is when the restart began.
	Began    time.Time
	Evidence Evidence
	// IsGone means that the config has another content by now.
	IsGone bool
	// Template is that of the workload, without what restarts it: the one that was restarted, and the present one if that is another.
	Template string
}

// Fail notes a failed restart for one of its configs, and returns the halt that begins or goes on because
// of that; nil if there is none, because too few restarts failed, a person has forgiven the failure, or the content is gone.
// The id is for a halt that begins. The restart is not over with that; see [Ledger.End].
func (l *Ledger) Fail(failure *Failure, id string, now time.Time) *Halt {
	if l.halts.isForgiven(failure) {
		return nil
	}
	h := l.halts.withContent(failure.Config, failure.Content)
	switch {
	case h != nil:
		h.isGone, h.isUnsure = failure.IsGone, false
	case !l.halts.makeRoom(failure.Config):
		return l.halts.fullOf(failure.Config.Namespace)
	default:
		h = &Halt{Config: failure.Config, Keys: failure.Keys, Content: failure.Content, Key: failure.Key, Evidence: failure.Evidence}
		l.halts.add(h)
	}
	h.failures++
	h.noteFailed(failure)
	h.noteNamespace(failure.Workload.Namespace)
	if !h.isActive && l.isEnough(h) {
		h.ID, h.Since, h.Resumed = id, now, time.Time{}
		if failure.Evidence != (Evidence{}) {
			h.Evidence = failure.Evidence
		}
		if h.isGone = failure.IsGone; !h.isGone {
			l.activate(h, true)
		}
	}
	if failure.IsGone && h.ID == "" {
		l.halts.remove(h) // too few
	}
	if !h.isActive {
		return nil
	}
	return h
}

// noteFailed notes which workload has failed, and with which template; of a group, one of each namespace.
func (h *Halt) noteFailed(failure *Failure) {
	i := slices.IndexFunc(h.Failed, func(ref names.WorkloadRef) bool {
		return ref == failure.Workload || IsGroup(h.Config) && ref.Namespace == failure.Workload.Namespace
	})
	if i < 0 && len(h.Failed) < maxFailed {
		i, h.Failed = len(h.Failed), append(h.Failed, failure.Workload)
	}
	if i < 0 || h.Failed[i] != failure.Workload {
		return
	}
	for len(h.Templates) < len(h.Failed) {
		h.Templates = append(h.Templates, "")
	}
	h.Templates[i] = failure.Template
}

// FailedWith reports whether a workload has failed with a template, or may have.
func (h *Halt) FailedWith(ref names.WorkloadRef, template string) bool {
	i := slices.Index(h.Failed, ref)
	return i >= 0 && (i >= len(h.Templates) || h.Templates[i] == "" || strings.Contains(h.Templates[i], template))
}

func (h *Halt) noteNamespace(namespace string) {
	if !IsGroup(h.Config) {
		return
	}
	if h.namespaces == nil {
		h.namespaces = make(map[string]struct{})
	}
	if len(h.namespaces) < maxFailedNamespaces {
		h.namespaces[namespace] = struct{}{}
	}
}

func (l *Ledger) activate(h *Halt, isActive bool) {
	if h.isActive == isActive {
		return
	}
	if h.isActive = isActive; isActive {
		l.halts.active++
		return
	}
	l.halts.active--
	l.callAll(&h.line)
	namespace := h.Config.Namespace
	if full := l.halts.full[namespace]; full != nil {
		delete(l.halts.full, namespace)
		l.callAll(&full.line)
	}
}

func (l *Ledger) callAll(line *line) {
	for r := line.next(); r != nil; r = line.next() {
		l.call(r)
	}
}

// Resume ends the halt of a config with this id on behalf of a person, and returns it; nil if there is no
// such halt. The failures that led to it count no more.
func (l *Ledger) Resume(config names.ConfigRef, id string, now time.Time) *Halt {
	for _, h := range l.halts.of[config] {
		if h.ID == id && (h.isActive || h.isGone && h.Resumed.IsZero()) {
			h.Resumed, h.namespaces = now, nil
			for _, related := range l.halts.related(h) {
				if related == h || !related.isActive {
					related.failures = 0
				}
			}
			l.activate(h, false)
			return h
		}
	}
	return nil
}

// Presence is what is known of a content.
type Presence uint8

const (
	// Present means that the config has the content.
	Present Presence = iota
	// Gone means that it has another one, or is gone.
	Gone
	// Lost means that it had another one, and that nobody could tell if this one came back.
	Lost
	// Unknown means that nothing is known anew.
	Unknown
)

// NoteContent takes in which contents a config has. Halts of those that it has not hold no restart any more, and are remembered; those
// of contents that are back hold again. It returns the halts that end or begin because of that.
func (l *Ledger) NoteContent(config names.ConfigRef, presence func(content string) Presence) (ended, begun []*Halt) {
	for _, h := range slices.Clone(l.halts.of[config]) {
		wasActive, is := h.isActive, presence(h.Content)
		if is == Unknown {
			continue
		}
		isFew := !wasActive && !h.isGone && h.Resumed.IsZero() // failures that are too few for a halt
		if h.isGone = is != Present; is == Lost || is == Gone && isFew {
			l.halts.remove(h)
		}
		l.activate(h, !isFew && !h.isGone && h.Resumed.IsZero())
		switch {
		case h.isUnsure: // nobody was told that it holds
		case wasActive && !h.isActive:
			h.ends++
			ended = append(ended, h)
		case h.isActive && !wasActive:
			begun = append(begun, h)
		}
		h.isUnsure = false
	}
	return ended, begun
}

// IsReportedAgain reports whether it is news that the content of the halt is gone, or is back. Whoever may write a copy of a group
// could fill the Events of others otherwise.
func (h *Halt) IsReportedAgain() bool { return !IsGroup(h.Config) || h.ends <= 1 }

// TakeForgotten returns the halts that were forgotten since the last call because there were too many: their contents were gone, or
// resumed.
func (l *Ledger) TakeForgotten() []*Halt {
	forgotten := l.halts.forgotten
	l.halts.forgotten = nil
	return forgotten
}

// FailedContent is a content for which a config has a halt, or failures that are too few for one. Its members are those of the
// [Halt].
type FailedContent struct {
	Keys   []string
	Key    string
	Since  time.Time
	IsGone bool // as far as is known
}

// Contents returns the contents for which a config has halts, or failures that are too few for one.
func (l *Ledger) Contents(config names.ConfigRef) map[string]FailedContent {
	contents := make(map[string]FailedContent)
	for _, h := range l.halts.of[config] {
		contents[h.Content] = FailedContent{Keys: h.Keys, Key: h.Key, Since: h.Since, IsGone: h.isGone || h.isUnsure}
	}
	return contents
}

// Recovered drops the halts of a config in which a workload failed that runs after all with the content,
// and returns those of them that were active. That of a group only ends if no more than the failures of one namespace are left:
// whose workloads break and run as they like may not end it for others. The function reports whether the workload still reads
// what is halted: if it does not, that it runs says nothing. What a person has forgiven stays forgiven.
func (l *Ledger) Recovered(workload names.WorkloadRef, config names.ConfigRef, reads func(*Halt) bool) []*Halt {
	var ended []*Halt
	for _, h := range slices.Clone(l.halts.of[config]) {
		if h.isGone || !h.Resumed.IsZero() || !slices.Contains(h.Failed, workload) || !reads(h) {
			continue
		}
		over := *h
		if IsGroup(config) {
			if h.forgive(workload); l.isEnough(h) {
				continue
			}
		}
		if h.isActive {
			ended = append(ended, &over)
			l.activate(h, false)
		}
		h.ID, h.Since, h.ends = "", time.Time{}, 0 // too few failures are left for a halt, or none
		if len(h.namespaces) == 0 {
			l.halts.remove(h)
		}
	}
	return ended
}

// forgive withdraws the failure of a workload in a group, which is that of its namespace.
func (h *Halt) forgive(workload names.WorkloadRef) {
	delete(h.namespaces, workload.Namespace)
	if len(h.Failed) == 1 {
		return // it stands for those that are not named
	}
	i := slices.Index(h.Failed, workload)
	h.Failed = slices.Concat(h.Failed[:i], h.Failed[i+1:])
	if i < len(h.Templates) {
		h.Templates = slices.Concat(h.Templates[:i], h.Templates[i+1:])
	}
}

// Restore takes in a halt that another process began, unless it is known. If its clock was ahead, a person
// resumed the halt at the latest now, so that no failure of a later restart is forgiven.
func (l *Ledger) Restore(h Halt, now time.Time) {
	if h.Resumed.After(now) {
		h.Resumed = now
	}
	restored := l.halts.withContent(h.Config, h.Content)
	switch {
	case restored == nil:
		restored = &Halt{Config: h.Config, Content: h.Content}
		l.halts.add(restored)
	case restored.isActive || restored.isGone || !restored.Resumed.IsZero():
		return
	}
	*restored = Halt{
		ID: h.ID, Config: h.Config, Keys: h.Keys, Content: h.Content, Key: h.Key, Failed: slices.Clone(h.Failed), Templates: slices.Clone(h.Templates),
		Evidence: h.Evidence, Since: h.Since, Resumed: h.Resumed, isFormer: true, isUnsure: h.isUnsure,
	}
	if h.Resumed.IsZero() {
		restored.failures = l.policy.Failures + 1
		for _, ref := range restored.Failed {
			restored.noteNamespace(ref.Namespace)
		}
		l.activate(restored, true)
	}
}

// HaltsOf returns the halts of a config that are active, remembered, or were resumed, for the record of them. The
// caller must not modify them.
func (l *Ledger) HaltsOf(config names.ConfigRef) []*Halt {
	var all []*Halt
	for _, h := range l.halts.of[config] {
		if h.isActive || h.isGone || !h.Resumed.IsZero() {
			all = append(all, h)
		}
	}
	return all
}

// Halted returns the configs that have halts.
func (l *Ledger) Halted() []names.ConfigRef { return slices.Collect(maps.Keys(l.halts.of)) }

// Evidence names the pod and the container that showed a failure; empty if none did.
type Evidence struct {
	Pod, Container string
	// HasRestarted means that the container has logs of an earlier run.
	HasRestarted bool
}

// Command returns the command that shows a person why a pod of a namespace fails, empty if there is none. People paste it
// into a shell, so there is none either if a name is not one that the API accepts.
func (e Evidence) Command(namespace string) string {
	isNamed := len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(e.Pod)) == 0
	switch {
	case !isNamed:
		return ""
	case e.HasRestarted && len(validation.IsDNS1123Label(e.Container)) == 0:
		return fmt.Sprintf("kubectl logs -n %s %s -c %s --previous", namespace, e.Pod, e.Container)
	}
	return fmt.Sprintf("kubectl describe pod -n %s %s", namespace, e.Pod)
}

// Command does so for a halt. The pods of a group are in namespaces that whoever reads it may not see.
func (h *Halt) Command() string {
	if IsGroup(h.Config) || len(h.Failed) == 0 {
		return ""
	}
	return h.Evidence.Command(h.Failed[0].Namespace)
}
