package content

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// MountTable holds all mounts by namespace and name, and by class.
type MountTable struct {
	ByName  map[string]map[string]*MountState
	ByClass map[names.ConfigRef]*MountedClass
	// listed is when the mounts of a namespace, or of all if it is empty, were first listed.
	Listed map[string]time.Time
	// ReadSince holds the moments since which workloads read the classes that they reference.
	ReadSince map[names.WorkloadRef]map[names.ConfigRef]names.Sequence
}

// MountedClass holds the mounts of a class.
type MountedClass struct {
	Count   int
	Rotated map[string]*MountState // by name; nil if there are none, since a class may have one pod only
	// changed is when the newest content of the class was rotated into a pod; zero if that is not known.
	Changed time.Time
}

// NewMountTable returns an empty table.
func NewMountTable() MountTable {
	return MountTable{
		ByName: make(map[string]map[string]*MountState), ByClass: make(map[names.ConfigRef]*MountedClass),
		Listed: make(map[string]time.Time), ReadSince: make(map[names.WorkloadRef]map[names.ConfigRef]names.Sequence),
	}
}

// MountName names a class and a pod that mounts it.
type MountName struct{ Namespace, Name string }

// KeepRotated keeps a mount among the rotated ones if it is one.
func (c *MountedClass) KeepRotated(m *MountState) {
	if m.Rotated.IsZero() {
		c.ForgetRotated(m.Name)
		return
	}
	if c.Rotated == nil {
		c.Rotated = make(map[string]*MountState)
	}
	c.Rotated[m.Name] = m
}

// ForgetRotated forgets the rotations of a pod.
func (c *MountedClass) ForgetRotated(name string) {
	if delete(c.Rotated, name); len(c.Rotated) == 0 {
		c.Rotated = nil
	}
}

// MountedKey is the name of the key under which a class has the content of its newest rotation. Nobody sees it.
const MountedKey = "objects"

// ClassMounts is what a [catalog.View] shows of the mounts of a class.
type ClassMounts struct {
	// rotated are the mounts whose files have changed, in no order.
	Rotated []*MountState
	// since is the time to record; see [SinceOf]. It is zero if the mounts have not been listed.
	Since names.Checksum
	// ReadSince is the moment since which the workload reads the class.
	ReadSince names.Sequence
}

// SinceOf returns what to record of a class in place of a checksum: since when rotations matter to the workload, in seconds
// of Unix time. That is when its mounts were first listed, or later if files have changed since. What a record has stays
// in all that follow it. So rotations that no watch showed, from before a workload was first recorded, restart nothing.
func SinceOf(listed time.Time, rotated []*MountState) names.Checksum {
	since := names.UnixSeconds(listed)
	for _, m := range rotated {
		since = max(since, names.UnixSeconds(m.Rotated.Add(time.Second-1)))
	}
	return names.Checksum(since)
}
