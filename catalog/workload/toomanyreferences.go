package workload

import (
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Excess says of what there is too much for a workload to count.
type Excess uint8

const (
	// NoExcess means that the workload counts.
	NoExcess Excess = iota
	// TooManyReferences means that its pod template has more than [template.MaxReferences].
	TooManyReferences
	// NamespaceFull means that the workloads of its namespace have too many references together, and that this one is
	// among those with the most.
	NamespaceFull
)

const (
	// BytesPerReference is how much text counts like a reference in [Workload.Size].
	BytesPerReference = 200
	// ordinaryName is how many bytes of a name do not count as text.
	ordinaryName = 63
)

// Size returns how much the references of the workload take, and its texts of any length: a number of references. It
// follows from the workload alone. A workload takes at most 2 * [BytesPerReference] for each, besides what all take.
func (w *Workload) Size() int {
	text := len(w.Selector)
	size, lists := 0, make(map[*string]struct{}) // of rules, which many references may share
	add := func(references []template.Reference) {
		for i := range references {
			keys := references[i].Keys
			text += max(0, len(references[i].Container)-ordinaryName) + max(0, len(references[i].Config.Name)-ordinaryName)
			if !keys.ByRules || len(keys.Names) == 0 {
				size += max(1, len(keys.Names))
				for _, name := range keys.Names {
					text += max(0, len(name)-ordinaryName)
				}
				continue
			}
			size++
			if _, isKnown := lists[&keys.Names[0]]; !isKnown {
				lists[&keys.Names[0]] = struct{}{}
				for _, rule := range keys.Names {
					text += len(rule) + 16 // for the string itself
				}
			}
		}
	}
	add(w.References)
	if f := w.Filtering; f != nil {
		add(f.Recorded)
		text += w.Filter().Length()
	}
	return size + text/BytesPerReference
}

// LeftAlone returns the workload without references, as one of a namespace that has too many. It does not modify the
// workload.
func (w *Workload) LeftAlone() *Workload {
	left := *w
	left.References, left.Writers, left.Filtering = nil, nil, nil
	left.Record = record.Record{Room: w.Record.Room} // nothing is known of what an eviction would bring
	left.Excess = NamespaceFull
	return &left
}
