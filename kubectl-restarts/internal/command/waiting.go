package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/leader"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/overview"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/receipt"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// waiting is one run of the command wait.
type waiting struct {
	*waitCommand
	refs     []names.ConfigRef
	contents []receipt.Content
	bar      *bar
	// told is what the last line about each reader said.
	told map[string]string
	// workloads and overviews are from the last look at them, of which stayed names the readers that did not go on.
	workloads []facts.Workload
	overviews map[string]*overview.Report
	stayed    map[string]bool
	looks     int
	pages     *leader.Pages // nil if the leader is not asked
}

// looksAtPods is how many looks at the pods come with one at the workloads, which takes more requests.
const looksAtPods = 2

func (w *waiting) run(ctx context.Context) error {
	defer w.bar.clear()
	until, end := context.WithCancel(ctx) // with a deadline, what limits requests would refuse those that have to wait for longer
	defer end()
	if w.timeout.Duration > 0 {
		defer time.AfterFunc(w.timeout.Duration, end).Stop()
	}
	found := &receipt.Receipt{Readers: []receipt.Reader{}} // the last look
	var failing time.Time                                  // since when looks fail
	for {
		began, looking := time.Now(), until
		if w.looks == 0 { // without a look there is nothing to say
			looking = ctx
		}
		isOver, err := w.step(looking, found)
		switch {
		case ctx.Err() != nil:
			return exit(exitError) // a person has ended it
		case isOver, err != nil && w.looks == 0:
			return err
		case until.Err() != nil:
			return w.end(found, verdictTimeout, exitTimeout)
		case err == nil:
			failing = time.Time{}
		case !mayPass(err) || !failing.IsZero() && time.Since(failing) > longestFailure:
			return err
		case failing.IsZero():
			failing = time.Now()
			w.bar.clear()
			w.note(fmt.Sprintf("it goes on, although a request has failed: %v", err))
		}
		pause := time.NewTimer(max(w.interval.Duration, time.Since(began))) // at most half of the time goes to requests
		select {
		case <-until.Done():
		case <-pause.C:
		}
	}
}

// longestFailure is for how long looks may fail, such as while the control plane is upgraded.
const longestFailure = 5 * time.Minute

// mayPass reports whether a request that has failed may succeed the next time.
func mayPass(err error) bool {
	return !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) && !apierrors.IsUnauthorized(err)
}

// step looks once. It reports whether the wait is over, which it has said then.
func (w *waiting) step(ctx context.Context, found *receipt.Receipt) (isOver bool, err error) {
	if err := w.readContents(ctx); err != nil {
		return errors.As(err, new(exit)), err
	}
	if err := w.look(ctx, found); err != nil {
		return false, err
	}
	if isOver, err := w.isOver(found); isOver {
		return true, err
	}
	w.tell(found)
	return false, nil
}

// readContents reads the configs. If one was written during the wait, although it has the same content, its date is later: another
// content may have come and gone between two looks. A write that changes only annotations looks the same.
func (w *waiting) readContents(ctx context.Context) error {
	isFirst := w.contents == nil
	for i, ref := range w.refs {
		object, err := w.from.Config(ctx, ref)
		if err != nil {
			return explained(err, "you need permission to get what you wait for")
		}
		rules, err := w.from.Rules(ctx, ref.Namespace)
		if err != nil {
			return err
		}
		read := receipt.NewContent(rules.Config(reduced(object), object.GetAnnotations()), object, isImmutable(object))
		switch {
		case isFirst:
			w.contents = append(w.contents, read)
			w.say(edited(&read))
		case w.contents[i].IsSame(&read):
			before, _ := w.contents[i].Edited()
			if at, _ := read.Edited(); !at.Equal(before) {
				w.say(edited(&read) + ", during the wait, with the same content: pods that started before may have read another one that came and went")
			}
			w.contents[i] = read
		case w.latest:
			w.contents[i] = read
			w.say(edited(&read) + ", during the wait, which goes on with this content")
		default:
			w.contents[i] = read
			w.say(edited(&read) + ", during the wait: what it waited for is not there any more. With --latest, it waits for what is")
			return w.end(&receipt.Receipt{Readers: []receipt.Reader{}}, verdictSuperseded, exitResult)
		}
	}
	return nil
}

// edited says when a content came, and from whom.
func edited(c *receipt.Content) string {
	at, by := c.Edited()
	said := fmt.Sprintf("%s in %s was last edited at %s (%s ago)", c.Name(), c.Ref.Namespace, at.Format(time.RFC3339), facts.Age(time.Since(at)))
	if by != "" {
		said += " by " + by
	}
	return said
}

// look reads how far the contents are delivered.
func (w *waiting) look(ctx context.Context, found *receipt.Receipt) error {
	if w.looks%looksAtPods == 0 {
		if err := w.readWorkloads(ctx); err != nil {
			return err
		}
	}
	in := &receipt.Input{Contents: w.contents, Workloads: w.workloads, Overviews: w.overviews, Leader: w.leaderSays(ctx), EnabledOnly: w.enabledOnly}
	asked := make(map[names.ConfigRef]bool)
	for _, ref := range w.refs {
		asked[ref] = true
	}
	for _, namespace := range w.namespaces() {
		before := len(in.Pods)
		err := w.from.EachPod(ctx, namespace, func() { in.Pods = in.Pods[:before] }, func(pod *corev1.Pod) {
			if p, runs := receipt.NewPod(pod, asked); runs {
				in.Pods = append(in.Pods, p)
			}
		})
		if err != nil {
			return explained(err, "you need permission to list the pods, without which nothing is known")
		}
	}
	w.looks++
	*found = receipt.Judge(in)
	return nil
}

// leaderSays returns what asks the leader about workloads, until it does not answer.
func (w *waiting) leaderSays(ctx context.Context) func(names.WorkloadRef) *status.Workload {
	silent := w.pages == nil
	return func(ref names.WorkloadRef) *status.Workload {
		if silent {
			return nil
		}
		said, err := w.pages.Workload(ctx, ref)
		if unknown := (*leader.Unknown)(nil); errors.As(err, &unknown) {
			return &status.Workload{}
		}
		silent = err != nil
		return said
	}
}

// namespaces returns where readers are looked for.
func (w *waiting) namespaces() []string {
	if w.all {
		return []string{""}
	}
	found := make(map[string]struct{})
	for _, ref := range w.refs {
		found[ref.Namespace] = struct{}{}
	}
	return slices.Sorted(maps.Keys(found))
}

// readWorkloads reads how the workloads stand, as far as the caller may.
func (w *waiting) readWorkloads(ctx context.Context) error {
	w.workloads, w.overviews = nil, make(map[string]*overview.Report)
	for _, namespace := range w.namespaces() {
		in := &overview.Input{Namespace: namespace, Now: time.Now()}
		switch err := w.status.gather(ctx, w.from, in); {
		case apierrors.IsForbidden(err):
			w.status.noteOnce("you may not list workloads, so it is not known which of them are not going to restart, nor which of them read it through the API")
			continue
		case err != nil:
			return err
		}
		report := overview.Look(in)
		for i := range report.Gaps {
			w.status.noteOnce(facts.DescribeGap(&report.Gaps[i], time.Time{})) // without its age, which changes with each look
		}
		w.workloads = append(w.workloads, in.Workloads...)
		w.overviews[namespace] = &report
	}
	return nil
}

// isOver reports whether the wait is over, which it has said then.
func (w *waiting) isOver(found *receipt.Receipt) (bool, error) {
	unknown, stays := found.With(receipt.Unknown), found.With(receipt.Stays)
	switch {
	case found.Left == 0:
		if doubt := w.doubt(); doubt != "" {
			w.say("Not known: no pod is left that is known to have read an earlier content, but " + doubt)
			return true, w.end(found, verdictUnknown, exitError)
		}
		return true, w.end(found, verdictDelivered, exitOK)
	case len(unknown) > 0:
		return true, w.end(found, verdictUnknown, exitError)
	case w.keepWaiting:
		return false, nil
	case w.looks%looksAtPods != 1: // how the workloads stand is from before
		return false, nil
	}
	before := w.stayed
	w.stayed = make(map[string]bool)
	isOver := false
	for _, reader := range stays { // the leader may be about to see the edit, or that a halt is over
		w.stayed[key(&reader)] = true
		isOver = isOver || before[key(&reader)]
	}
	if !isOver {
		return false, nil
	}
	return true, w.end(found, verdictNotDelivered, exitResult)
}

// doubt says what the caller cannot see, empty if nothing.
func (w *waiting) doubt() string {
	for i := range w.contents {
		switch c := &w.contents[i]; {
		case !w.all && c.Readers() != "":
			return c.Name() + " is shared with other namespaces, of which only -A sees the readers"
		case c.Immutable && len(w.told) > 0:
			return c.Name() + " is immutable and was replaced, and nodes go on with the earlier one while any of their pods refers to it; use another name for another content"
		}
	}
	if len(w.overviews) < len(w.namespaces()) {
		return "you may not list the workloads, whose annotations say which of them read it through the API"
	}
	return ""
}

func key(r *receipt.Reader) string { return r.Namespace + "/" + r.Name }

// tell says what has changed since the last look.
func (w *waiting) tell(found *receipt.Receipt) {
	var changed []string
	for i := range found.Readers {
		r := &found.Readers[i]
		line := w.nameOf(r) + ": "
		switch {
		case r.Left > 0:
			line += fmt.Sprintf("%d of %s left: %s", r.Left, text.Count(r.Pods, "pod"), r.Why)
		case w.told[key(r)] == "":
			continue
		default:
			line += "no pod is left"
		}
		if line != w.told[key(r)] {
			w.told[key(r)] = line
			changed = append(changed, line)
		}
	}
	w.sayFirst(changed, fmt.Sprintf("; %d of %s left", found.Left, text.Count(found.Pods, "pod")))
	w.bar.draw(found.Pods-found.Left, found.Pods)
}

// maxLines is about how many readers people are told at once.
const maxLines = 50

// sayFirst prints the first lines about readers, and how many others there are, with what is to follow.
func (w *waiting) sayFirst(lines []string, rest string) {
	for _, line := range lines[:min(len(lines), maxLines)] {
		w.say(line)
	}
	if more := len(lines) - maxLines; more > 0 {
		w.say("and " + text.Count(more, "further reader") + rest)
	}
}

// nameOf names a reader, with its namespace if there are several.
func (w *waiting) nameOf(r *receipt.Reader) string {
	if w.all || len(w.namespaces()) > 1 {
		return r.Namespace + ": " + r.Name
	}
	return r.Name
}

// say prints a line of the progress, which is no part of a result for programs.
func (w *waiting) say(line string) {
	w.bar.clear()
	out := w.Out
	if w.output.isStructured() {
		out = w.ErrOut
	}
	fmt.Fprintln(out, text.Safe(line))
}

// What becomes of the wait.
const (
	verdictDelivered    = string(receipt.Delivered)
	verdictNotDelivered = string(receipt.Stays)
	verdictUnknown      = string(receipt.Unknown)
	verdictSuperseded   = "superseded"
	verdictTimeout      = "timeout"
)

// result is what programs read.
type result struct {
	Verdict string         `json:"verdict"`
	Configs []configResult `json:"configs"`
	receipt.Receipt
}

type configResult struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Edited    time.Time `json:"edited"`
	By        string    `json:"by,omitempty"`
}

// end says how the wait has ended, and returns how the process does.
func (w *waiting) end(found *receipt.Receipt, verdict string, code exit) error {
	w.bar.clear()
	if w.output.isStructured() {
		r := result{Verdict: verdict, Receipt: *found}
		for i := range w.contents {
			c := &w.contents[i]
			at, by := c.Edited()
			r.Configs = append(r.Configs, configResult{c.Ref.Namespace, c.Name(), at, by})
		}
		if err := w.output.print(w.Out, r); err != nil {
			return err
		}
	} else {
		w.print(found, verdict)
	}
	if code == exitOK {
		return nil
	}
	return code
}

// print says how far the contents are delivered, and what keeps pods from restarting.
func (w *waiting) print(found *receipt.Receipt, verdict string) {
	contents := make([]string, 0, len(w.contents))
	for i := range w.contents {
		contents = append(contents, w.contents[i].Name())
	}
	of, counts := text.List(contents, 3), "running pod"
	if w.enabledOnly {
		counts = "pod that the controller restarts"
	}
	switch {
	case verdict == verdictSuperseded, verdict == verdictUnknown && found.Left == 0: // why has been said
	case found.Pods == 0:
		w.say("No " + counts + " reads " + of + ".")
	case found.Left == 0:
		w.say(fmt.Sprintf("Delivered: %s %s, and no %s has read an earlier content of %s.", text.Count(found.Pods, "pod"), reads(found.Pods, len(contents)), counts, of))
	case verdict == verdictTimeout:
		w.say(fmt.Sprintf("Not delivered within %s: %d of %s may have read an earlier content of %s.", w.timeout, found.Left, text.Count(found.Pods, "pod"), of))
	default:
		w.say(fmt.Sprintf("Not delivered: %d of %s may have read an earlier content of %s.", found.Left, text.Count(found.Pods, "pod"), of))
	}
	var left []string
	for _, verdict := range []receipt.Verdict{receipt.Unknown, receipt.Stays, receipt.Waits} { // what needs a person comes first
		for _, r := range found.With(verdict) {
			line := fmt.Sprintf("  %s, %s left: %s", w.nameOf(&r), text.Count(r.Left, "pod"), r.Why)
			if r.Remedy != "" {
				line += ". Try: " + r.Remedy
			}
			left = append(left, line)
		}
	}
	w.sayFirst(left, "; -o json names them all")
}

// reads returns what so many pods do with so many contents.
func reads(pods, contents int) string {
	verb, object := "read", "them"
	if pods == 1 {
		verb = "reads"
	}
	if contents == 1 {
		object = "it"
	}
	return verb + " " + object
}
