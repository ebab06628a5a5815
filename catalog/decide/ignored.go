package decide

import (
	"strings"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// ignored returns what the record says about the configs that are ignored: their names, sorted and
// separated by commas. A config that is gone stays ignored if the record says so. So does one for which lacking returns true:
// the record is to cover what the present one covers, and lacks it.
func ignored(v *catalog.View, lacking func(names.ConfigRef) bool) string {
	var listed []string
	for ofOne := range names.Runs(v.Workload.References, template.OfOneConfig) {
		ref := ofOne[0].Config
		config := v.Present(ref)
		if ref.Kind.IsPerPod() {
			continue // nobody can ignore it by an annotation of its own
		}
		stays := config == nil || lacking(ref)
		if v.Workload.Ignores(config) || stays && v.Workload.Record.SaysIgnored(ref) {
			listed = append(listed, ref.NameWithin())
		}
	}
	all := strings.Join(listed, ",")
	if len(all) <= record.MaxIgnored {
		return all
	}
	fitting := all[:strings.LastIndex(all[:record.MaxIgnored-len(record.OtherIgnored)], ",")+1]
	return fitting + record.OtherIgnored
}

// cameIgnored reports whether an edit is no reason to restart, because the config was ignored at that
// time, or may have been. What the record covers was not, or not for long enough to be recorded.
func (h *history) cameIgnored(edit annotation.Edit) bool {
	if !h.wasIgnored || edit.Seen > h.ignoredUntil {
		return false
	}
	_, isRecorded := h.workload.Record.Checksums[h.config.Ref]
	return !isRecorded || !h.workload.Record.Trusted || h.narrowing != nil && !h.narrowing.isCovered(edit)
}

// ignoredUntil returns a moment until which the workload ignored a config, as far as a watch showed it; 0 if none did.
// An edit of the config by then does not count.
func ignoredUntil(w *workload.Workload, config *content.Config) names.Sequence {
	until := config.CountsAfter()
	if !w.NeedsMark(config.Ref) {
		return until
	}
	changed, marked := w.FilterChanged(), config.MarkedAfter()
	recorded := w.RecordedReferences(config.Ref)
	switch {
	case changed == 0:
		return max(until, marked)
	case w.Record.Trusted && w.Record.SaysIgnored(config.Ref) && len(recorded) > 0 && recorded[0].NeedsMark:
		return max(until, min(marked, changed)) // it may have counted by a filter in between
	}
	return until
}
