package deployment

import "kubernetes-deployment-restart-controller/deployment/digest"

// index finds the members of groups. A member may be in several groups.
type index map[digest.Digest]map[digest.Digest]struct{}

func (x index) add(member digest.Digest, groups []digest.Digest) {
	for _, group := range groups {
		if x[group] == nil {
			x[group] = map[digest.Digest]struct{}{}
		}
		x[group][member] = struct{}{}
	}
}

func (x index) remove(member digest.Digest, groups []digest.Digest) {
	for _, group := range groups {
		if delete(x[group], member); len(x[group]) == 0 {
			delete(x, group)
		}
	}
}
