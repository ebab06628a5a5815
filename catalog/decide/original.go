package decide

import "kubernetes-deployment-restart-controller/catalog"

// compareOriginal compares a config's content with a record of the original. A record of this controller that lost
// its basis looks like one, but has our own checksum: it is ignored.
func compareOriginal(v *catalog.View, s *sight) comparison {
	recorded, found := v.Workload.Applied.Original[s.ref]
	digest, isRead := v.Originals[s.ref]
	switch {
	case !found || !isRead || recorded == s.checksum:
		return unknown
	case recorded == digest:
		return sameData
	}
	return different
}
