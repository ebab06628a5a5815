package controller

import (
	"fmt"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// mountPermissions returns the permissions to watch mounts.
func mountPermissions() []apiclient.Permission {
	permission := func(verb, without string) apiclient.Permission {
		return apiclient.Permission{Verb: verb, Group: custom.MountKind.Group, Resource: custom.MountResource, Impact: without, Manifest: "rbac-csi.yaml"}
	}
	return []apiclient.Permission{
		permission("list", "files that the Secrets Store CSI driver rotates restart nothing"),
		permission("watch", "the controller notices late that the Secrets Store CSI driver has rotated files"),
	}
}

// reduceMount reduces a mount to an observation. It is called on each object as it arrives, and keeps no version of a secret.
func reduceMount(object any) (*observation, error) {
	read, isOne := object.(*custom.Object)
	if !isOne {
		return nil, fmt.Errorf("reduce object: unexpected type %T, want %s", object, custom.MountKind.Kind)
	}
	var mount content.Mount
	var err error
	decodeObject(read, func() { mount, err = custom.Mount(read) })
	return &observation{resourceVersion: read.ResourceVersion, mount: &mount}, err
}

// observeMount takes in a mount that is new or has changed.
func (in *intake) observeMount(mount *content.Mount) {
	if in.optIns.rules.Ignores(mount.Class.Namespace) {
		return
	}
	now := time.Now()
	if in.catalog.ObserveMount(*mount, now) {
		in.configChanged(mount.Class, now)
	}
}

// listMounts takes in all mounts of a namespace, or of all namespaces.
func (in *intake) listMounts(namespace string, all []*observation, first bool) {
	mounts := make([]*content.Mount, 0, len(all))
	for _, o := range all {
		if !in.optIns.rules.Ignores(o.mount.Class.Namespace) {
			mounts = append(mounts, o.mount)
		}
	}
	now, changed := time.Now(), make(map[names.ConfigRef]struct{})
	in.catalog.ListMounts(namespace, mounts, now, first, func(class names.ConfigRef) { changed[class] = struct{}{} })
	for class := range changed {
		in.quarantine.Try(quarantine.Queue, nameOfConfig(class), func() { in.configChanged(class, now) })
	}
}

// knowMounts reports whether all mounts of a namespace have been listed once, or are not watched.
func (all *watches) knowMounts(namespace string) bool {
	return !slices.ContainsFunc(all.all, func(w *resourceWatch) bool {
		return w.mounts && w.shows(namespace) && !w.Status().Synced
	})
}
