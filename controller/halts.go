package controller

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// What the ConfigMap of halts contains: an entry for each config with halts, and the hold of
// everything, which only people write; see [gate.Entries].
const longestHaltKeys = 512 // bytes of the names of the keys of a halt

const (
	// haltsPeriod is how often the ConfigMap of halts is read.
	haltsPeriod = 10 * time.Second
	// haltsPatience is for how long nobody is admitted because the halts of former leaders cannot be
	// read.
	haltsPatience = time.Minute
)

// haltKeeper keeps the halts in a ConfigMap, so that they outlive this process, and takes in what
// people write there: a halt that they remove is resumed.
type haltKeeper struct {
	store      *haltStore
	optIns     *optIns
	gate       *gatekeeper
	deliveries *deliveries
	restarter  *restarter
	mistakes   *mistakes
	notices    *notices
	quarantine *quarantine.Set
	events     record.EventRecorder
	log        *slog.Logger
	// knowsConfigs reports whether all configs of a namespace have been listed, and knowsAllConfigs whether
	// those of all namespaces have. watches reports whether this process watches a namespace: another
	// controller may keep the halts of other namespaces in the same place. hasGroups means that it is the
	// one that keeps the halts of groups.
	knowsConfigs, watches func(namespace string) bool
	// knowsMounts reports whether all mounts of a namespace have been listed, or are not watched.
	knowsMounts     func(namespace string) bool
	knowsAllConfigs func() bool
	hasGroups       bool
	changed         signal // there is something to write
	refused         signal

	// hasTakenIn means that the halts of former leaders were taken in. hasRead means that the ConfigMap was read, and
	// written if it had to be: written are the entries of the halts that it had last, by the ids of the halts, and uid is
	// which ConfigMap that was.
	hasTakenIn, hasRead bool
	written             map[string]string
	uid                 types.UID
	isRefused           bool // for lack of a permission, at the last attempt
	// reminded is when each halt was last reported, by their ids.
	reminded map[string]time.Time
}

// newHaltID returns an id that a person can type.
func newHaltID() string { return strings.ToLower(rand.Text()[:8]) }

// run reads and writes the halts until the context ends.
func (k *haltKeeper) run(ctx context.Context) {
	start, hasReported, known := time.Now(), false, haltKnowledge{}
	ticker := time.NewTicker(haltsPeriod)
	defer ticker.Stop()
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.changed:
		case <-ticker.C:
		case <-retry.C:
		}
		err := k.syncBefore(ctx, start.Add(haltsPatience))
		followsAll := k.followFailed() // before anybody is admitted
		k.noteTried(err, start)
		k.noteObject(ctx, err)
		k.endHalts()
		known = k.useKnowledge(known, err)
		k.remind(start, time.Now())
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if hasReported {
				k.log.Info("keeps the halts of restarts in the ConfigMap again")
			}
			if hasReported = false; !followsAll {
				retry.Reset(time.Second)
			}
		case errors.Is(err, errNoHaltsNamespace): // there is nothing to read
		case time.Since(start) < haltsPatience:
			retry.Reset(min(time.Second, haltsPatience-time.Since(start)))
		case !hasReported:
			hasReported = true
			k.log.Error("cannot keep the halts of restarts, keeping them in memory only", "error", err,
				"consequence", "the next leader will not know of the halts of this one, if there are any", "remedy", "apply rbac.yaml, which contains the ConfigMap and the permission to read and update it")
		}
	}
}

// haltKnowledge is how much is known of the halts of former leaders: whether what is kept has been read, and what restarts need
// not wait for any more.
type haltKnowledge struct{ hasRead, hasTried, knowsHalts bool }

// useKnowledge lets go on what has waited for what is known now, after an attempt to read.
func (k *haltKeeper) useKnowledge(before haltKnowledge, err error) (now haltKnowledge) {
	now.hasRead = before.hasRead || areRead(err)
	now.hasTried, now.knowsHalts = k.gate.knowsOfHalts()
	if now.hasRead && !before.hasRead {
		k.mistakes.judgeResumes()
	}
	if now.hasTried != before.hasTried || now.knowsHalts != before.knowsHalts {
		k.restarter.askAgainAll("") // now, and not when it is their turn to try again
	}
	return now
}

// areRead reports whether an attempt has read all that is kept, which is nothing without a namespace.
func areRead(err error) bool { return err == nil || errors.Is(err, errNoHaltsNamespace) }

// syncBefore is sync, but while restarts wait for the halts, it gives up at a time.
func (k *haltKeeper) syncBefore(ctx context.Context, end time.Time) error {
	if _, knowsHalts := k.gate.knowsOfHalts(); !knowsHalts && time.Now().Before(end) {
		within, cancel := context.WithDeadline(ctx, end)
		defer cancel()
		ctx = within
	}
	return k.sync(ctx)
}

// noteTried notes that what is kept was read, or cannot be: restarts need not wait for that. After a passing failure, such as a
// refusal by an API server that has just started, the next attempt may show that everything is held, and for haltsPatience any
// may show the halts of former leaders.
func (k *haltKeeper) noteTried(err error, start time.Time) {
	hasRead, isOver := areRead(err), time.Since(start) >= haltsPatience
	if hasRead || isOver || isPermanent(err) && time.Since(start) >= keyPatience {
		k.gate.setHaltsTried()
	}
	if hasRead || isOver {
		k.gate.setHaltsKnown(hasRead)
	}
}

// noteObject notes whether the ConfigMap can be used, unless there is none or the context has ended.
func (k *haltKeeper) noteObject(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, errNoHaltsNamespace) {
		k.gate.haltsObject.note(err, status.ApplyManifest, time.Now())
		wasRefused := k.isRefused
		if k.isRefused = remedyOf(err) == status.GrantPermission; k.isRefused && !wasRefused {
			k.refused.note()
		}
	}
}

// wakeUp makes the keeper write what has changed.
func (k *haltKeeper) wakeUp() { k.changed.note() }

// followFailed follows the workloads that failed under former leaders, as soon as they are known, and reports
// whether all are. That has to come before the end of their halts, so that they restart first.
func (k *haltKeeper) followFailed() (followsAll bool) {
	followsAll = true
	for _, h := range k.gate.activeHalts() {
		for _, ref := range h.Failed {
			if !k.gate.knowsWorkloads(ref.Namespace) {
				followsAll = false
				continue
			}
			k.quarantine.Try(quarantine.Delivery, nameOfWorkload(ref), func() { k.deliveries.followFailed(ref, h.Config, h.Since, len(h.Failed) == 1) })
		}
	}
	return followsAll
}

// endHalts ends the halts of configs that are gone or have changed unseen, or whose owners have resumed them
// unseen.
func (k *haltKeeper) endHalts() {
	now := time.Now()
	for _, config := range k.gate.halted() {
		k.quarantine.Try(quarantine.Delivery, nameOfConfig(config), func() { k.endHaltsOf(config, now) })
	}
}

func (k *haltKeeper) endHaltsOf(config names.ConfigRef, now time.Time) {
	if k.knows(config) && k.gate.knowsWorkloads(config.Namespace) { // those that are broken go first
		k.gate.contentChanged(config, now)
	}
	if k.gate.resume(config, now) {
		k.wakeUp()
	}
}

func (k *haltKeeper) knows(config names.ConfigRef) bool {
	if gate.IsGroup(config) {
		return k.knowsAllConfigs()
	}
	if config.Kind.IsPerPod() {
		return k.knowsMounts(config.Namespace)
	}
	return k.knowsConfigs(config.Namespace) && k.knowsConfigs(config.Source().Namespace)
}

// sync takes in what the ConfigMap says, and writes what it lacks.
func (k *haltKeeper) sync(ctx context.Context) error {
	written := make(map[string]string)
	var uid types.UID
	hasTakenIn := false
	err := k.store.update(ctx, func(object *corev1.ConfigMap) bool {
		clear(written)
		uid = object.UID
		isHoldLost := k.restoreLost(object)
		if areUnreadNews := k.takeIn(object.Data); areUnreadNews {
			k.eventUnread(object)
		}
		hasTakenIn = true
		isNoted := k.optIns.noteOn(object)
		return k.writeTo(object.Data, written) || isHoldLost || isNoted
	})
	if !apierrors.IsConflict(err) { // otherwise a former leader may have written another halt just now
		k.hasTakenIn = k.hasTakenIn || hasTakenIn
	}
	if err != nil {
		return err
	}
	k.written, k.uid, k.hasRead = written, uid, true
	return nil
}

// restoreLost makes up for a ConfigMap that was deleted and created again, which no person does to resume
// restarts: the halts are written again, and so is the hold of everything, if the return value is true.
func (k *haltKeeper) restoreLost(object *corev1.ConfigMap) (isHoldLost bool) {
	if !k.hasRead || object.UID == k.uid {
		return false
	}
	k.log.Warn("the ConfigMap of halts was deleted and created again, writing its entries again")
	k.written = nil
	_, isHeld := object.Data[gate.HoldEntry]
	hold := k.gate.everythingHeld()
	if isHoldLost = hold != "" && !isHeld; isHoldLost {
		object.Data[gate.HoldEntry] = hold
	}
	return isHoldLost
}

// takeIn takes in halts of former leaders, halts that a person has removed, and the hold of everything. It reports whether
// other entries cannot be read than before.
func (k *haltKeeper) takeIn(data map[string]string) (areUnreadNews bool) {
	entries, present := gate.ReadEntries(data), make(map[string]struct{})
	for _, h := range entries.Halts {
		present[h.ID] = struct{}{}
		isCorrected := k.gate.isUnread(gate.EntryOf(h.Config.String())) // it may be a former leader's, and known to nobody
		if (!k.hasTakenIn || isCorrected) && k.keeps(h.Config) {
			k.gate.restore(h)
		}
	}
	for id, entry := range k.written {
		_, isPresent := present[id]
		if _, isUnread := entries.Unread[entry]; !isPresent && !isUnread { // which says nothing about what a person wants
			k.gate.resumeByID(id)
		}
	}
	if k.gate.holdEverything(entries.Hold) {
		k.restarter.askAgainAll("")
	}
	return k.gate.setUnread(entries.Unread, time.Now())
}

// writeTo writes the halts into the data, notes their entries by their ids, and reports whether the data has changed. An entry
// that cannot be read stays there until its config has a halt.
func (k *haltKeeper) writeTo(data, written map[string]string) (hasChanged bool) {
	entries, room := make(map[string]string), haltsRoom
	for _, records := range inTurns(k.gate.records()) {
		text, err := json.Marshal(records)
		name := gate.EntryOf(records[0].Config)
		if room -= len(name) + len(text); err != nil || room < 0 {
			k.log.Error("no room for a halt in the ConfigMap, keeping it in memory only", "config", records[0].Config, "error", err)
			break
		}
		entries[name] = string(text)
		for i := range records {
			written[records[i].ID] = name
		}
	}
	unread := gate.ReadEntries(data).Unread
	for name := range data {
		_, isWritten := entries[name]
		if _, isUnread := unread[name]; !isWritten && !isUnread && name != gate.HoldEntry && k.isOurs(name) {
			delete(data, name)
			hasChanged = true
		}
	}
	for name, text := range entries {
		if data[name] != text {
			data[name], hasChanged = text, true
		}
	}
	return hasChanged
}

// haltsRoom is how many bytes of the ConfigMap the halts take at most. The API allows 1 MiB.
const haltsRoom = 900 * 1024

// inTurns orders halts so that the first ones of all namespaces come first, then the second ones, and so on:
// no namespace can take the room of others.
func inTurns(halts [][]gate.HaltRecord) [][]gate.HaltRecord {
	var turns fairqueue.RoundRobin[[]gate.HaltRecord]
	for _, records := range halts {
		_, rest, _ := strings.Cut(records[0].Config, "/")
		namespace, _, _ := strings.Cut(rest, "/")
		turns.Add(namespace, records)
	}
	sorted := make([][]gate.HaltRecord, 0, len(halts))
	for turns.Len() > 0 {
		sorted = append(sorted, turns.Next())
	}
	return sorted
}

// keeps reports whether the halts of a config are for this process to keep.
func (k *haltKeeper) keeps(config names.ConfigRef) bool {
	return k.watches(config.Namespace) || gate.IsGroup(config) && k.hasGroups
}

// IsOurs reports whether an entry is about a namespace that this process watches.
func (k *haltKeeper) isOurs(entry string) bool {
	parts := strings.SplitN(entry, ".", 3) // namespaces have no dots
	return len(parts) == 3 && (k.watches(parts[1]) || parts[1] == "_" && k.hasGroups)
}
