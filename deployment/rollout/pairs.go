package rollout

import "kubernetes-deployment-restart-controller/deployment/pack"

// Pairs are labels or annotations in one text: equal ones are the same text. They take a fraction
// of the memory of a map, and an author chooses how many there are. So they are unpacked where a
// plan needs them, and not for every object that it looks at.
type Pairs string

// PackPairs packs the entries of a map whose keys are kept.
func PackPairs(m map[string]string, keeps func(key string) bool) Pairs {
	var p pack.Packer
	p.TextMap(m, keeps)
	if packed := Pairs(p.String()); packed.Len() > 0 {
		return packed
	}
	return ""
}

// Len returns how many pairs there are.
func (p Pairs) Len() int {
	if p == "" {
		return 0
	}
	u := pack.UnpackerOf(string(p))
	return int(u.Number())
}

// Map returns a new map with room for more entries. Its texts share that of the pairs.
func (p Pairs) Map(more int) map[string]string {
	if p == "" {
		return make(map[string]string, more)
	}
	u := pack.UnpackerOf(string(p))
	return u.TextMap(more)
}
