package catalog

import "slices"

// A change of a filter restarts nothing: it changes what is compared, so the workload is only recorded
// again. Until then the record says what the pods have of the keys that counted when it was made, and
// for the others only those edits count that a watch showed later than the filter by which they
// count.

// Filtering is what is known of the filters of a workload that has one, or had one.
type Filtering struct {
	// steps are the last filters, the present one last. Those before the present one do not matter any more once a trusted
	// record was made by it.
	steps []filterStep
	// recorded are the references that a trusted record covers. They are set only if it was made by another
	// filter than the present one.
	recorded []Reference
	isOther  bool
	// template are the references of the pod template to configs that are also read through the API,
	// whether they count or not.
	template []Reference
}

// filterStep is a filter and the moment at which the watch first showed it, 0 if the workload may have
// had it all the time.
type filterStep struct {
	Filter
	seen Sequence
}

// maxFilterSteps is how many filters of a workload are remembered, and maxFilterTexts how many bytes of the ones before the
// present one. If it has had more since its record, the time of the earlier ones counts as that of the first that is
// remembered.
const (
	maxFilterSteps = 8
	maxFilterTexts = 4096
)

// tooManySteps returns how many of the filters, the first ones, cannot be remembered.
func tooManySteps(steps []filterStep) int {
	texts := 0
	for i := len(steps) - 2; i >= 0; i-- {
		if texts += steps[i].length(); texts > maxFilterTexts || len(steps)-i > maxFilterSteps {
			return i + 1
		}
	}
	return 0
}

// Filter returns the present filter.
func (w *Workload) Filter() Filter {
	if w.Filtering == nil {
		return Filter{}
	}
	return w.Filtering.steps[len(w.Filtering.steps)-1].Filter
}

// newFiltering returns what is known of the filters of a workload with this filter, these references
// that count, and this record. The function references returns the references that count by a filter.
func newFiltering(present Filter, counting []Reference, record *AppliedState, references func(by Filter) []Reference) *Filtering {
	f := Filtering{steps: []filterStep{{Filter: present}}}
	if present.Also != "" {
		f.template = referencesToSame(references(Filter{}), counting)
	}
	if f.isOther = record.Trusted && record.filter() != present; f.isOther {
		f.recorded = references(record.filter())
	}
	if present == (Filter{}) && !f.isOther {
		return nil
	}
	return &f
}

// filter returns the filter by which the checksums were made.
func (r *AppliedState) filter() Filter { return r.without().Filter }

// followFilters notes at the given moment which filters the workload had before. What is known of its
// previous state may be nil.
func (w *Workload) followFilters(previous *Workload, moment Sequence) {
	before := w.filtersBefore(previous)
	if before == nil {
		return
	}
	if present := w.Filter(); before[len(before)-1].Filter != present {
		before = append(slices.Clip(before), filterStep{present, moment})
	}
	if last := len(before) - 1; w.Applied.Trusted && !w.hasOtherFilter() && w.RecordSeen > before[last].seen {
		before = slices.Clone(before[last:]) // the record is newer than they are, and has what counted by them
	}
	if more := tooManySteps(before); more > 0 {
		first := before[0].seen
		before = slices.Clone(before[more:])
		before[0].seen = first
	}
	var followed Filtering
	if w.Filtering != nil {
		followed = *w.Filtering
	}
	followed.steps = before
	w.Filtering = &followed
}

// hasOtherFilter reports whether a trusted record was made by another filter than the present one.
func (w *Workload) hasOtherFilter() bool { return w.Filtering != nil && w.Filtering.isOther }

// filtersBefore returns the filters that a workload had before, nil if nothing needs to be known of
// them.
func (w *Workload) filtersBefore(previous *Workload) []filterStep {
	switch {
	case previous == nil && !w.hasOtherFilter():
		return nil
	case previous == nil:
		return []filterStep{{Filter: w.Applied.filter()}}
	case previous.Filtering != nil:
		return previous.Filtering.steps
	case w.Filtering == nil:
		return nil
	}
	return []filterStep{{}}
}

// recordedReferences returns the references to a config that counted when the record was made.
func (w *Workload) recordedReferences(ref ConfigRef) []Reference {
	if w.hasOtherFilter() {
		return referencesTo(w.Filtering.recorded, ref)
	}
	return referencesTo(w.References, ref)
}

// narrowing is what the filters of a workload say about its edits of one config.
type narrowing struct {
	// recorded selects the keys that a trusted record covers, if it was made by another filter. It is
	// empty if the record does not cover the config.
	recorded []Selection
	// isRecorded means that the record has the config, and differs that it has other content of it than
	// the present one, and that the workload sees the difference.
	isRecorded, differs bool
	// isTrusted means that there is a trusted record, made by another filter.
	isTrusted bool
	// isAlso means that programs read the config through the API. Then template selects the keys that
	// the pod template refers to, if there are any. Otherwise it refers to all keys in question.
	isAlso   bool
	template []Selection
	steps    []narrowStep
	// marked is the moment from which on the config has been marked, and isMarked means that it is, for as long as
	// that matters.
	marked   Sequence
	isMarked bool
	// present is the checksum of what counts now.
	present Checksum
}

// narrowStep is which keys of the config counted by one filter: of those that the pod template refers to,
// and of all keys, because programs read them through the API.
type narrowStep struct {
	keyRules
	also keyRules
	seen Sequence
	// needsMark means that what the pod template refers to counted only if it was marked.
	needsMark bool
}

// narrowings returns a function that returns the narrowing of each config, which may be nil, by the references to it. It
// returns nil for those about which the filters of the workload say nothing.
func (w *Workload) narrowings() func(references []Reference, config *Config) *narrowing {
	f := w.Filtering
	if f == nil || !f.isOther && (w.Applied.Trusted || len(f.steps) == 1 && f.steps[0].seen == 0) {
		return func([]Reference, *Config) *narrowing { return nil }
	}
	steps := w.pastRules()
	return func(references []Reference, config *Config) *narrowing {
		ref := references[0].Config
		recorded := referencesTo(f.recorded, ref)
		if f.isOther && slices.EqualFunc(recorded, references, isSameReference) {
			return nil
		}
		wasIgnored, marked := w.Applied.saysIgnored(ref), config.markedAfter()
		if len(recorded) > 0 && recorded[0].NeedsMark && wasIgnored {
			recorded = nil
		}
		n := narrowing{
			recorded: selections(recorded), isTrusted: f.isOther,
			marked: marked, isMarked: config.isMarked() && (marked > 0 || !wasIgnored),
		}
		_, n.isRecorded = w.Applied.Checksums[ref]
		if n.isAlso = references[len(references)-1].Channel == API; n.isAlso {
			n.template = selections(referencesTo(f.template, ref))
		}
		for i := range steps {
			n.add(narrowStep{steps[i].of(ref), steps[i].ofAlso(ref), f.steps[i].seen, steps[i].needsMark(ref)})
		}
		return &n
	}
}

// add adds the next step. If it says the same about the config as the one before, that one goes on.
func (n *narrowing) add(step narrowStep) {
	if i := len(n.steps) - 1; i >= 0 && n.steps[i].needsMark == step.needsMark && n.steps[i].isSame(&step.keyRules) && n.steps[i].also.isSame(&step.also) {
		return
	}
	n.steps = append(n.steps, step)
}

// pastRules parses the filters that are remembered, the present one last. That takes long for all configs of a workload.
func (w *Workload) pastRules() []rules {
	all := make([]rules, len(w.Filtering.steps))
	for i := range all {
		all[i] = w.Filtering.steps[i].rules(w.Ref.Namespace)
	}
	return all
}

func isSameReference(a, b Reference) bool {
	return compareWays(&a, &b) == 0 && a.Container == b.Container && a.NeedsMark == b.NeedsMark && a.Keys.DataOnly == b.Keys.DataOnly &&
		a.Keys.ByRules == b.Keys.ByRules && a.Keys.HasAll() == b.Keys.HasAll() && slices.Equal(a.Keys.Names, b.Keys.Names)
}

// since returns the moment from which on a key has counted all the time, 0 if no watch showed how that
// began. The empty name stands for a key that is not known. If the moment is before enough, any such moment may be returned.
func (n *narrowing) since(key string, enough Sequence) Sequence {
	var since Sequence
	for i := range slices.Backward(n.steps) {
		step := &n.steps[i]
		switch {
		case step.also.mayCount(key):
		case !n.isInTemplate(key) || !step.mayCount(key) || step.needsMark && !n.isMarked:
			return since
		case !step.needsMark || n.marked == 0 || n.marked < step.seen: // it was marked before the filter was there
		case since == 0 || n.marked < since:
			return n.marked
		default: // it was not marked yet
			return since
		}
		if since = step.seen; since < enough {
			return since // earlier filters can only make it earlier
		}
	}
	return since
}

// isInTemplate reports whether the pod template refers to a key, or may refer to one that is not known.
func (n *narrowing) isInTemplate(key string) bool {
	return !n.isAlso || slices.ContainsFunc(n.template, func(s Selection) bool { return key == "" || s.names(key) })
}

// isCovered reports whether the record covers the key of an edit.
func (n *narrowing) isCovered(edit Edit) bool {
	return slices.ContainsFunc(n.recorded, edit.concerns)
}

// isReason reports whether an edit can be a reason to restart that the record does not know. Such an
// edit came after its key began to count.
func (n *narrowing) isReason(edit Edit) bool {
	if n == nil {
		return true
	}
	if !n.isTrusted {
		since := n.since(edit.Key, edit.Seen)
		return edit.Seen > since || since == 0
	}
	var since Sequence
	switch isCovered := n.isCovered(edit); {
	case isCovered && (!n.isRecorded || n.differs):
		return true
	case edit.isJoined():
		since = n.firstSince()
	case isCovered:
		return false
	default:
		since = n.since(edit.Key, 0)
	}
	return since > 0 && edit.Seen > since
}

// firstSince returns the first moment at which a watch showed that a key may have begun to count, 0 if it showed none.
func (n *narrowing) firstSince() Sequence {
	first := n.marked
	for _, step := range n.steps {
		if first == 0 || step.seen > 0 && step.seen < first {
			first = step.seen
		}
	}
	return first
}

// isCause reports whether an edit can be what makes the content differ from the record, or a reason
// besides that.
func (n *narrowing) isCause(edit Edit) bool {
	return n == nil || n.isCovered(edit) || n.isReason(edit)
}

// shows reports whether the workload sees a difference of a config from a record that covers other
// keys of it. If no edit since the record is known, any key may be different.
func (n *narrowing) shows(w *Workload, s *sight) bool {
	isKnown, present := false, selections(s.references)
	for _, edit := range append(slices.Clone(s.config.Edits), s.config.creation()) {
		if !n.isCovered(edit) || !w.lacks(edit) {
			continue
		}
		if isKnown = true; edit.creation || slices.ContainsFunc(present, edit.concerns) {
			return true
		}
	}
	return !isKnown
}

// compare makes a sight compare the config with a record that was made by another filter: with the
// keys that the record covers. A difference that does not count is none.
func (n *narrowing) compare(v *View, s *sight) {
	n.present = s.checksum
	recorded, found := v.Workload.Applied.Checksums[s.ref]
	if !n.isTrusted || !found {
		return
	}
	s.seen = s.config.seen(n.recorded)
	s.checksum = s.config.checksumOf(s.seen, v.Key)
	if n.differs = s.checksum != recorded && n.shows(v.Workload, s); !n.differs {
		s.checksum = recorded
	}
}
