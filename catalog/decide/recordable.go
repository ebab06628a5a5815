package decide

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// newDecision returns a decision with what to record.
func newDecision(v *catalog.View, seenConfigs []seenConfig) Decision {
	staysAsRecorded := slices.ContainsFunc(seenConfigs, func(s seenConfig) bool { return isOnlyRecorded(v, &s) })
	checksums, filter := currentChecksums(v, seenConfigs, staysAsRecorded), v.Workload.Filter()
	if staysAsRecorded {
		filter = v.Workload.Record.Filter()
	}
	lacking := func(ref names.ConfigRef) bool {
		_, found := checksums[ref]
		return staysAsRecorded && !found
	}
	return Decision{Without: record.Without{Filter: filter, Ignored: ignored(v, lacking)}, Checksums: checksums.LimitTo(int(v.Workload.Record.Room))}
}

// currentChecksums computes what to record. A config that is gone keeps its entry from a trusted
// record, because running pods still have its content. If asked to, it computes the checksums by what that record covers.
func currentChecksums(v *catalog.View, seenConfigs []seenConfig, asRecorded bool) record.Checksums {
	checksums, applied := make(record.Checksums, len(seenConfigs)), &v.Workload.Record
	addSince(v, checksums)
	for i := range seenConfigs {
		s := &seenConfigs[i]
		recorded, found := applied.Checksums[s.ref]
		switch {
		case s.config != nil && asRecorded && s.narrowing != nil:
			if covered := s.narrowing.recorded; len(covered) > 0 {
				checksums[s.ref] = s.config.Checksum(covered, v.Key)
			}
		case s.config != nil:
			checksums[s.ref] = s.present()
		case found && applied.Trusted && asRecorded:
			checksums[s.ref] = recorded
		case found && applied.Trusted:
			if recorded, found = checksumOfGone(v, s, recorded); found {
				checksums[s.ref] = recorded
			}
		}
	}
	return checksums
}

// isOnlyRecorded reports whether a config is gone that a record of another filter has, so that its content at that time is
// not known by the present filter. When it is back, it can be compared only by what the record covers. That makes no
// difference if containers start without it: its creation is then a reason to restart them.
func isOnlyRecorded(v *catalog.View, s *seenConfig) bool {
	recorded, found := v.Workload.Record.Checksums[s.ref]
	if s.config != nil || s.narrowing == nil || len(s.narrowing.recorded) == 0 || !found || !v.Workload.Record.Trusted {
		return false
	}
	_, isKnown := checksumOfGone(v, s, recorded)
	return !isKnown && slices.ContainsFunc(s.references, func(r template.Reference) bool { return !r.Optional })
}

// checksumOfGone returns what to record of a config that is gone, given what is recorded. If the record
// was made by another filter, that is known only if the catalog knows the recorded content.
func checksumOfGone(v *catalog.View, s *seenConfig, recorded names.Checksum) (names.Checksum, bool) {
	if s.narrowing == nil {
		return recorded, true
	}
	gone := v.Configs[s.ref]
	if gone == nil || gone.Checksum(s.narrowing.recorded, v.Key) != recorded {
		return 0, false
	}
	return gone.Checksum(content.Selections(s.references), v.Key), true
}
