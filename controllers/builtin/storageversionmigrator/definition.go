package storageversionmigrator

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
)

type definition = apiextensionsv1.CustomResourceDefinition

// definitionKey names the definition of a resource, if it is a custom one.
func definitionKey(m *migration) types.NamespacedName {
	return types.NamespacedName{Name: m.Spec.Resource.Resource + "." + m.Spec.Resource.Group}
}

// announce says on the definition of a custom resource that it is being migrated, and at which generation
// that began.
func (g *migrator) announce(ctx context.Context, m *migration) error {
	return g.onDefinition(ctx, m, func(d *definition) {
		say(d, apiextensionsv1.ConditionTrue, reasonRunning, fmt.Sprintf("Migration %s is running", m.Name))
	})
}

// trim says on the definition of a custom resource how its migration ended. If it succeeded and the
// definition is the one it began with, all objects are stored in its storage version, and no other is left in
// storedVersions.
func (g *migrator) trim(ctx context.Context, m *migration, succeeded bool) error {
	return g.onDefinition(ctx, m, func(d *definition) {
		if !succeeded {
			say(d, apiextensionsv1.ConditionFalse, "MigrationFailed", "The migration has failed")
			return
		}
		running := condition(d)
		if running == nil || running.ObservedGeneration != d.Generation {
			say(d, apiextensionsv1.ConditionFalse, "MigrationSucceeded", "The migration has succeeded but the stored versions have not been updated due to a generation mismatch")
			return
		}
		d.Status.StoredVersions = []string{storageVersion(d)}
		say(d, apiextensionsv1.ConditionFalse, "MigrationSucceeded", "The migration has succeeded and the stored versions have been updated")
	})
}

func (g *migrator) onDefinition(ctx context.Context, m *migration, change func(*definition)) error {
	if m.Spec.Resource.Group == "" {
		return nil
	}
	_, err := client.UpdateStatus(ctx, g.definitions, definitionKey(m), func(d *definition) error {
		change(d)
		return nil
	})
	return apierrors.IgnoreNotFound(err) // a resource that is built in has none
}

func condition(d *definition) *apiextensionsv1.CustomResourceDefinitionCondition {
	i := slices.IndexFunc(d.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.StorageMigrating
	})
	if i < 0 {
		return nil
	}
	return &d.Status.Conditions[i]
}

// say sets the condition StorageMigrating.
func say(d *definition, status apiextensionsv1.ConditionStatus, reason, message string) {
	c := condition(d)
	if c == nil {
		d.Status.Conditions = append(d.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.StorageMigrating})
		c = condition(d)
	}
	if c.Status != status {
		c.LastTransitionTime = metav1.Now().Truncated()
	}
	c.Status, c.Reason, c.Message, c.ObservedGeneration = status, reason, message, d.Generation
}

func storageVersion(d *definition) string {
	for i := range d.Spec.Versions {
		if d.Spec.Versions[i].Storage {
			return d.Spec.Versions[i].Name
		}
	}
	return "" // a stored definition has one
}

// switched reports whether the server stores a custom resource in the version that its definition asks for: a
// moment after a change it may not yet, and what it wrote then would be in the old one.
func (g *migrator) switched(ctx context.Context, m *migration, r *discovery.Resource) (bool, error) {
	if m.Spec.Resource.Group == "" {
		return true, nil
	}
	d, err := g.definitions.Get(ctx, definitionKey(m))
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	resp, err := g.conn.Do(ctx, &client.Request{Path: "/apis/" + r.GVR.GroupVersion().String()})
	if err != nil {
		return false, err
	}
	var list metav1.APIResourceList
	if err := codec.Unmarshal(resp.Body, &list); err != nil {
		return false, err
	}
	for i := range list.APIResources {
		if one := &list.APIResources[i]; one.Name == r.GVR.Resource {
			return one.StorageVersionHash == "" || one.StorageVersionHash == storageHash(d), nil
		}
	}
	return false, nil
}

// storageHash is how discovery names the storage version of a resource.
func storageHash(d *definition) string {
	sum := sha256.Sum256([]byte(d.Spec.Group + "/" + storageVersion(d) + "/" + d.Spec.Names.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
