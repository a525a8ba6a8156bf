package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// What controller-gen would generate.

// DeepCopyInto copies to out.
func (b *Backup) DeepCopyInto(out *Backup) {
	*out = *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if b.Spec.Keep != nil {
		out.Spec.Keep = new(int32)
		*out.Spec.Keep = *b.Spec.Keep
	}
	if b.Status.Conditions != nil {
		out.Status.Conditions = make([]metav1.Condition, len(b.Status.Conditions))
		for i := range b.Status.Conditions {
			b.Status.Conditions[i].DeepCopyInto(&out.Status.Conditions[i])
		}
	}
}

// DeepCopy returns a copy.
func (b *Backup) DeepCopy() *Backup {
	if b == nil {
		return nil
	}
	out := &Backup{}
	b.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (b *Backup) DeepCopyObject() runtime.Object { return b.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *BackupList) DeepCopyObject() runtime.Object {
	if l == nil {
		return nil
	}
	out := &BackupList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	if l.Items != nil {
		out.Items = make([]Backup, len(l.Items))
		for i := range l.Items {
			l.Items[i].DeepCopyInto(&out.Items[i])
		}
	}
	return out
}
