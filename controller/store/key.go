package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/status"
)

const (
	// keyEntry is the entry in the data of the Secret that holds the key. The manifests
	// create the Secret empty.
	keyEntry = "key"

	// KeyPatience is how long a refusal counts as transient: an API server that has just
	// started does not know all Roles yet, and the manifests may not all be applied.
	KeyPatience = 30 * time.Second
	// maxKeyBackoff is the longest pause between two attempts.
	maxKeyBackoff = 5 * time.Second
)

// Keys loads the key of the checksums of Secrets, and creates it at the first start.
type Keys struct {
	Core apiclient.Core
	// Namespace is the controller's own namespace, empty if it is not known.
	Namespace string
	// Secret is the name of the Secret that holds the key.
	Secret string
	// ReadOnly leaves an empty Secret empty.
	ReadOnly bool
	Log      *slog.Logger
	// Object is how it goes.
	Object OwnObject
}

// errKeyMalformed means that the entry is not a valid key. The controller does not replace
// it, because a user put it there.
var errKeyMalformed = fmt.Errorf("its entry %q does not have %d bytes", keyEntry, content.ChecksumKeySize)

// What a missing key means, and what to do about it.
const (
	keyConsequence = "after each start, the start times of containers decide about workloads that read Secrets"
	keyRemedy      = "apply rbac.yaml, or the first part of rbac-namespaced.yaml, which contains the Secret and the permission to read and update it, and restart the controller"
)

// Find returns the key, or a key for this process only if it cannot load or create one. It
// tries again while the API server is unavailable, and for KeyPatience if the API server
// refuses. It returns false if the context ends first.
func (k *Keys) Find(ctx context.Context) (content.ChecksumKey, bool) {
	if k.Namespace == "" {
		k.Log.Warn("no namespace for the key of Secrets' checksums, using one for this process only",
			"consequence", keyConsequence, "remedy", "set --controller-namespace")
		return NewKey(), true
	}
	start := time.Now()
	for attempt, backoff := 1, run.MinBackoff; ; attempt, backoff = attempt+1, min(2*backoff, maxKeyBackoff) {
		key, err := k.load(ctx)
		k.noteObject(ctx, err)
		switch {
		case err == nil:
			if attempt > 1 {
				k.Log.Info("loaded the key of Secrets' checksums after retries")
			}
			return key, true
		case ctx.Err() != nil:
			return content.ChecksumKey{}, false
		case errors.Is(err, errKeyMalformed):
			k.Log.Error("cannot use the key of Secrets' checksums, using one for this process only", "error", err,
				"consequence", keyConsequence, "remedy", "restore the entry, or remove it so that the controller creates a new key, and restart the controller")
			return NewKey(), true
		case failures.IsPermanent(err) && time.Since(start) >= KeyPatience:
			k.Log.Error("cannot load the key of Secrets' checksums, using one for this process only", "error", err,
				"consequence", keyConsequence, "remedy", keyRemedy)
			return NewKey(), true
		}
		k.logRetry(ctx, attempt, err)
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
			return content.ChecksumKey{}, false
		}
	}
}

// noteObject notes whether the key can be loaded, unless the context has ended.
func (k *Keys) noteObject(ctx context.Context, err error) {
	remedy := status.ApplyManifest + " Then restart the controller if workloads no longer wait."
	if errors.Is(err, errKeyMalformed) {
		remedy = "Restore the entry, or remove it so that the controller creates a new key, and restart the controller."
	}
	if ctx.Err() == nil {
		k.Object.Note(err, remedy, time.Now())
	}
}

// logRetry reports a failure that may be transient: the first one as a warning, the others
// at the debug level.
func (k *Keys) logRetry(ctx context.Context, attempt int, err error) {
	level := slog.LevelDebug
	if attempt == 1 {
		level = slog.LevelWarn
	}
	k.Log.Log(ctx, level, "cannot load the key of Secrets' checksums yet, trying again; workloads that read Secrets wait", "error", err)
}

// load reads the key. It creates one if the Secret is empty or missing. A conflict, or a
// Secret that exists after all, means that another process has just created the key.
func (k *Keys) load(ctx context.Context) (content.ChecksumKey, error) {
	secret, err := k.Core.Secrets(k.Namespace).Get(ctx, k.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !k.ReadOnly {
		return k.create(ctx, err)
	}
	if err != nil {
		return content.ChecksumKey{}, fmt.Errorf("get secret %s/%s: %w", k.Namespace, k.Secret, err)
	}
	if content, found := secret.Data[keyEntry]; found {
		return parseKey(secret, content)
	}
	if k.ReadOnly {
		return NewKey(), nil // records made with a lost key are not trusted anyway
	}
	return k.fill(ctx, secret)
}

func parseKey(secret *corev1.Secret, data []byte) (content.ChecksumKey, error) {
	if len(data) != content.ChecksumKeySize {
		return content.ChecksumKey{}, fmt.Errorf("read secret %s/%s: %w", secret.Namespace, secret.Name, errKeyMalformed)
	}
	return content.NewChecksumKey([content.ChecksumKeySize]byte(data)), nil
}

// fill writes a new key into the Secret.
func (k *Keys) fill(ctx context.Context, secret *corev1.Secret) (content.ChecksumKey, error) {
	data := randomBytes()
	if secret.Data == nil {
		secret.Data = make(map[string][]byte)
	}
	secret.Data[keyEntry] = data[:]
	if _, err := k.Core.Secrets(k.Namespace).Update(ctx, secret, metav1.UpdateOptions{FieldManager: annotation.FieldManager}); err != nil {
		return content.ChecksumKey{}, fmt.Errorf("update secret %s/%s: %w", k.Namespace, k.Secret, err)
	}
	return k.made(data), nil
}

// create creates the Secret with a new key. The manifests do not grant this permission,
// because RBAC cannot limit it to this one Secret.
func (k *Keys) create(ctx context.Context, missing error) (content.ChecksumKey, error) {
	data := randomBytes()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: k.Secret, Namespace: k.Namespace},
		Data:       map[string][]byte{keyEntry: data[:]},
	}
	_, err := k.Core.Secrets(k.Namespace).Create(ctx, secret, metav1.CreateOptions{FieldManager: annotation.FieldManager})
	switch {
	case err == nil:
		return k.made(data), nil
	case failures.IsPermanent(err):
		return content.ChecksumKey{}, fmt.Errorf("get secret %s/%s: %w; create it: %w", k.Namespace, k.Secret, missing, err)
	}
	return content.ChecksumKey{}, fmt.Errorf("create secret %s/%s: %w", k.Namespace, k.Secret, err)
}

func (k *Keys) made(data [content.ChecksumKeySize]byte) content.ChecksumKey {
	key := content.NewChecksumKey(data)
	k.Log.Info("created the key of Secrets' checksums", "secret", k.Namespace+"/"+k.Secret, "id", key.ID())
	return key
}

// NewKey returns a key that nobody else has.
func NewKey() content.ChecksumKey { return content.NewChecksumKey(randomBytes()) }

func randomBytes() (content [content.ChecksumKeySize]byte) {
	_, _ = rand.Read(content[:]) // never fails: it crashes the program instead
	return content
}
