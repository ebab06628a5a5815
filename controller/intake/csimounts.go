package intake

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// observeMount takes in a mount that is new or has changed.
func (in *Intake) observeMount(mount *content.CSIMount) {
	if in.OptIns.Rules.Ignores(mount.Class.Namespace) {
		return
	}
	now := time.Now()
	if in.Catalog.ObserveMount(*mount, now) {
		in.configChanged(mount.Class, now)
	}
}

// listMounts takes in all mounts of a namespace, or of all namespaces.
func (in *Intake) listMounts(namespace string, all []*kinds.Observation, first bool) {
	mounts := make([]*content.CSIMount, 0, len(all))
	for _, o := range all {
		if !in.OptIns.Rules.Ignores(o.Mount.Class.Namespace) {
			mounts = append(mounts, o.Mount)
		}
	}
	now, changed := time.Now(), make(map[names.ConfigRef]struct{})
	in.Catalog.ListMounts(namespace, mounts, now, first, func(class names.ConfigRef) { changed[class] = struct{}{} })
	for class := range changed {
		in.Quarantine.Try(quarantine.Queue, kinds.NameOfConfig(class), func() { in.configChanged(class, now) })
	}
}
