package decide

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// oracle judges a workload in the slow and obvious way: by each place in the pod template
// that refers to a config and by each pod, one after the other. What [workload.Object] keeps of
// the template is not used.
type oracle struct {
	view     catalog.View
	mentions []mention
}

// mention is a place in the pod template that makes one container read a config.
type mention struct {
	template.Reference
	container string
}

func newOracle(view catalog.View, spec *corev1.PodSpec) oracle {
	var all []mention
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			all = append(all, mentionsInEnvironment(&containers[i])...)
			all = append(all, mentionsInVolumes(spec.Volumes, &containers[i])...)
		}
	}
	return oracle{view, slices.DeleteFunc(all, func(m mention) bool { return m.Config.Name == "" })}
}

func mentionsInEnvironment(container *corev1.Container) []mention {
	var mentions []mention
	add := func(kind names.ConfigKind, name string, optional *bool, keys template.Selection) {
		keys.DataOnly = true
		mentions = append(mentions, mention{template.Reference{
			Config: names.ConfigRef{Kind: kind, Namespace: "ns", Name: name}, Keys: keys, Channel: template.Environment, Optional: template.IsTrue(optional),
		}, container.Name})
	}
	for _, from := range container.EnvFrom {
		keys := allDrawnBut(func(key string) bool { return !isSeen(container.Env, from.Prefix+key) })
		if ref := from.ConfigMapRef; ref != nil {
			add(names.ConfigMap, ref.Name, ref.Optional, keys)
		}
		if ref := from.SecretRef; ref != nil {
			add(names.Secret, ref.Name, ref.Optional, keys)
		}
	}
	for i, env := range container.Env {
		if env.ValueFrom == nil || !isSeen(container.Env[i+1:], env.Name) {
			continue
		}
		if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
			add(names.ConfigMap, ref.Name, ref.Optional, template.Selection{Names: []string{ref.Key}})
		}
		if ref := env.ValueFrom.SecretKeyRef; ref != nil {
			add(names.Secret, ref.Name, ref.Optional, template.Selection{Names: []string{ref.Key}})
		}
	}
	return mentions
}

// isSeen reports whether anything is left of the value of a variable after others are set, whether they are or not
// if they are optional.
func isSeen(later []corev1.EnvVar, name string) bool {
	for i, env := range later {
		if refersTo(env.Value, name) && isSeen(later[i+1:], env.Name) {
			return true
		}
		from := env.ValueFrom
		mayBeUnset := from != nil && (from.ConfigMapKeyRef != nil && template.IsTrue(from.ConfigMapKeyRef.Optional) || from.SecretKeyRef != nil && template.IsTrue(from.SecretKeyRef.Optional))
		if env.Name == name && !mayBeUnset {
			return false
		}
	}
	return true
}

func refersTo(value, name string) bool {
	return slices.ContainsFunc(objecttest.Dollars.FindAllStringSubmatch(value, -1), func(found []string) bool { return found[0] != "$$" && found[1] == name })
}

func allDrawnBut(isHidden func(key string) bool) template.Selection {
	hidden := slices.DeleteFunc(slices.Clone(objecttest.DrawnKeys), func(key string) bool { return !isHidden(key) })
	if len(hidden) == 0 {
		return template.Selection{}
	}
	return catalogtest.AllBut(hidden...)
}

func mentionsInVolumes(volumes []corev1.Volume, container *corev1.Container) []mention {
	var mentions []mention
	for i := range volumes {
		var mounts []corev1.VolumeMount
		for _, mount := range container.VolumeMounts {
			if mount.Name == volumes[i].Name {
				mounts = append(mounts, mount)
			}
		}
		sources := template.ConfigSources(&volumes[i])
		for k, source := range sources {
			if keys, visible := keysShownBy(mounts, source.Items, sources[k+1:], template.IsTrue(source.Optional)); visible && source.Kind != 0 {
				mentions = append(mentions, mention{template.Reference{
					Config: names.ConfigRef{Kind: source.Kind, Namespace: "ns", Name: source.Name}, Keys: keys, Channel: template.Volume, Optional: template.IsTrue(source.Optional),
				}, container.Name})
			}
		}
	}
	return mentions
}

// isReplaced reports whether a later source has a file at a path in any case.
func isReplaced(path string, later []template.ConfigSource) bool {
	return slices.ContainsFunc(later, func(s template.ConfigSource) bool { return !template.IsTrue(s.Optional) && hasPath(s.Items, path) })
}

func hasPath(items []corev1.KeyToPath, path string) bool {
	return slices.ContainsFunc(items, func(item corev1.KeyToPath) bool { return item.Path == path })
}

func keysShownBy(mounts []corev1.VolumeMount, items []corev1.KeyToPath, later []template.ConfigSource, optional bool) (template.Selection, bool) {
	names := []string{}
	for _, mount := range mounts {
		subPath := path.Clean(mount.SubPath)
		if below, found := strings.CutPrefix(subPath+"/", "..data/"); found {
			subPath = path.Clean(below)
		}
		whole := mount.SubPathExpr != "" || subPath == "."
		first := strings.Split(subPath, "/")[0]
		switch {
		case whole && len(items) == 0:
			return allDrawnBut(func(key string) bool { return isReplaced(key, later) }), true
		case len(items) == 0 && !isReplaced(first, later):
			names = append(names, first)
		}
		for i, item := range items {
			replaced := isReplaced(item.Path, later) || !optional && hasPath(items[i+1:], item.Path)
			if !replaced && (whole || strings.HasPrefix(path.Clean(item.Path)+"/", subPath+"/")) {
				names = append(names, item.Key)
			}
		}
	}
	slices.Sort(names)
	return template.Selection{Names: slices.Compact(names)}, len(names) > 0
}

// checksum is that of all keys of a config that any place selects.
func (o oracle) checksum(config *content.Config, key content.ChecksumKey) names.Checksum {
	return config.Checksum(o.selections(config), key)
}

func (o oracle) selections(config *content.Config) []template.Selection {
	var selections []template.Selection
	for _, m := range o.mentions {
		if m.Config == config.Ref {
			selections = append(selections, m.Keys)
		}
	}
	return selections
}

// isRecordedOtherwise reports whether a record that is trusted has another checksum of a config.
func (o oracle) isRecordedOtherwise(config *content.Config) bool {
	recorded, found := o.view.Workload.Record.Checksums[config.Ref]
	return found && o.view.Workload.Record.Trusted && recorded != o.checksum(config, o.view.Key)
}

func (o oracle) compareOriginal(config *content.Config) comparison {
	recorded, found := o.view.Workload.Record.Original[config.Ref]
	digest, isRead := o.view.Originals[config.Ref]
	switch {
	case !found, !isRead:
		return unknown
	case recorded == o.checksum(config, o.view.Key):
		return unknown // it is our own, without its basis
	case recorded == digest:
		return sameData
	}
	return different
}

// edits returns the edits that a reader at a place may have missed. It returns
// false if there is nothing to miss.
func (o oracle) edits(m mention, config *content.Config) ([]annotation.Edit, bool) {
	w, otherwise := o.view.Workload, o.isRecordedOtherwise(config) || o.compareOriginal(config) == different
	_, isRecorded := w.Record.Original[config.Ref]
	var edits []annotation.Edit
	if otherwise || m.Optional && config.Seen([]template.Selection{m.Keys}).Len() > 0 {
		edits = append(edits, config.Creation())
	}
	for _, edit := range config.Edits {
		if config.IsVisible(edit, m.Keys) {
			edits = append(edits, edit)
		}
	}
	edits = slices.DeleteFunc(edits, func(edit annotation.Edit) bool {
		return !afterOptIn(edit, w) || edit.Seen == 0 && w.Record.Original != nil && !isRecorded
	})
	return edits, otherwise || len(edits) > 0
}

// judge looks through each place at each pod. It returns what the stale ones have missed,
// whether there is anything to miss, and whether the record of the original differs.
func (o oracle) judge(pods []Pod, matters func(names.ConfigRef) bool) (causes []Cause, suspicious, differs bool) {
	found := map[names.ConfigRef]*Cause{}
	for _, m := range o.mentions {
		config := o.view.Present(m.Config)
		if config == nil || !matters(m.Config) {
			continue
		}
		comparison := o.compareOriginal(config)
		if comparison == sameData && m.Keys.DataOnly {
			continue
		}
		if comparison == sameData {
			config = config.Binary()
		}
		edits, is := o.edits(m, config)
		suspicious = suspicious || is
		for _, pod := range pods {
			read, hasRead := m.readAt(pod)
			if !hasRead {
				continue
			}
			stale, explained := o.isStale(edits, is, config, read), o.missed(edits, config, read)
			if comparison == different {
				stale, explained, differs = true, slices.Clone(edits), true
			}
			if stale {
				if found[m.Config] == nil {
					found[m.Config] = &Cause{Config: m.Config}
				}
				for _, edit := range explained {
					if edit.Seen > 0 {
						found[m.Config].add(edit)
					} else if o.isMissed(edit, read) {
						found[m.Config].addUnseen()
					}
				}
			}
		}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(found), names.CompareConfigRefs) {
		found[ref].tidy()
		causes = append(causes, *found[ref])
	}
	return causes, suspicious, differs
}

func (m mention) readAt(pod Pod) (time.Time, bool) {
	at := pod.Mounted
	if m.Channel == template.Environment {
		at = time.Time{}
		for _, start := range pod.Started {
			if start.Container == m.container {
				at = start.At
			}
		}
	}
	return at, !at.IsZero()
}

// isStale reports whether a pod has missed the last edit, or is older than a record of other
// content.
func (o oracle) isStale(edits []annotation.Edit, is bool, config *content.Config, read time.Time) bool {
	last := lastOf(edits)
	return is && (o.isOlderThanRecord(config, read) || last != nil && o.isMissed(*last, read))
}

func (o oracle) isOlderThanRecord(config *content.Config, read time.Time) bool {
	return o.isRecordedOtherwise(config) && o.view.Workload.Record.Written.Sub(read) > time.Second
}

// missed returns the edits to report.
func (o oracle) missed(edits []annotation.Edit, config *content.Config, read time.Time) []annotation.Edit {
	return slices.DeleteFunc(slices.Clone(edits), func(edit annotation.Edit) bool {
		return !o.isOlderThanRecord(config, read) && !o.isMissed(edit, read)
	})
}

// isMissed reports whether a pod that read the config at the given time has missed an edit.
func (o oracle) isMissed(edit annotation.Edit, read time.Time) bool {
	late := edit.At.Sub(read)
	inDoubt := late >= -time.Second && late <= time.Second
	if inDoubt && edit.Creation && edit.Seen == 0 {
		return false
	}
	return late > time.Second || inDoubt && edit.Seen >= o.view.Workload.PodTemplateSeen
}

func lastOf(edits []annotation.Edit) *annotation.Edit {
	var last *annotation.Edit
	for i := range edits {
		if last == nil || edits[i].At.After(last.At) {
			last = &edits[i]
		}
	}
	return last
}

// addReturned adds the configs whose content came back to what is recorded that a pod read while
// it was another one.
func (o oracle) addReturned(causes []Cause, pods []Pod) []Cause {
	w := o.view.Workload
	found := map[names.ConfigRef]*Cause{}
	for i := range causes {
		found[causes[i].Config] = &causes[i]
	}
	for _, m := range o.mentions {
		config := o.view.Present(m.Config)
		recorded, isRecorded := w.Record.Checksums[m.Config]
		if config == nil || !isRecorded || !w.Record.Trusted || recorded != o.checksum(config, o.view.Key) {
			continue
		}
		for _, past := range o.view.Past[m.Config] {
			key, _ := content.FindKey(config.Keys, past.Key)
			// A key that was in the binaryData was missing for an environment, whatever the record says.
			isMoved := past.Key != "" && m.Keys.DataOnly && past.WasBinary != key.Binary
			isOther := past.Mixed || past.Key == "" || past.Content != key.Checksum || isMoved
			isVisible := past.Key == "" && (past.Mixed || m.Optional) ||
				past.Key != "" && m.Keys.HasName(past.Key) && !(m.Keys.DataOnly && past.Binary)
			isLater := past.From.Seen > w.RecordSeen || (past.Mixed || isMoved) && past.Until.Seen > w.RecordSeen
			if !isLater || past.Until.Seen == 0 || !isOther || !isVisible {
				continue
			}
			if past.Mixed && past.From.Seen <= w.RecordSeen {
				past.From.At = w.Record.Written
			}
			for _, pod := range pods {
				if read, hasRead := m.readAt(pod); hasRead && o.isWithin(past, read) {
					if found[m.Config] == nil {
						found[m.Config] = &Cause{Config: m.Config}
					}
					// Without an edit of that key, the config was gone at that time, or made again.
					isNamed := false
					for _, edit := range config.Edits {
						if edit.Key == past.Key {
							found[m.Config].add(edit)
							isNamed = true
						}
					}
					if !isNamed {
						found[m.Config].addUnseen()
					}
				}
			}
		}
	}
	var all []Cause
	for _, ref := range slices.SortedFunc(maps.Keys(found), names.CompareConfigRefs) {
		found[ref].tidy()
		all = append(all, *found[ref])
	}
	return all
}

func (o oracle) isWithin(past content.Past, read time.Time) bool {
	if past.Until.Seen < o.view.Workload.PodTemplateSeen {
		return !read.Before(past.From.At) && !read.After(past.Until.At)
	}
	return !read.Before(past.From.At.Add(-time.Second)) && !read.After(past.Until.At.Add(time.Second))
}
