package decide

import (
	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// UnsettledByOriginal returns the configs in a record of the original controller that need their
// [record.OriginalDigest]s for a decision.
func UnsettledByOriginal(v *catalog.View) []names.ConfigRef {
	return unsettledByOriginal(v, seenConfigs(v))
}

func unsettledByOriginal(v *catalog.View, seenConfigs []seenConfig) []names.ConfigRef {
	if v.Originals != nil || v.Workload.Record.Original == nil {
		return nil
	}
	var unsettled []names.ConfigRef
	for i := range seenConfigs {
		s := &seenConfigs[i]
		if recorded, found := v.Workload.Record.Original[s.ref]; found && s.config != nil && recorded != s.checksum {
			unsettled = append(unsettled, s.ref)
		}
	}
	return unsettled
}

// comparison is the result of comparing a config with a record of the original.
type comparison int

const (
	unknown  comparison = iota
	sameData            // as far as the original's digest goes, which leaves out binaryData
	different
)

// compareOriginal compares a config's content with a record of the original. A record of this controller that lost
// its basis looks like one, but has our own checksum: it is ignored.
func compareOriginal(v *catalog.View, s *seenConfig) comparison {
	recorded, found := v.Workload.Record.Original[s.ref]
	digest, isRead := v.Originals[s.ref]
	switch {
	case !found || !isRead || recorded == s.checksum:
		return unknown
	case recorded == digest:
		return sameData
	}
	return different
}
