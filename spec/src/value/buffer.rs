//! The kinds of JavaScript's binary objects: `ArrayBuffer` and its views.

macro_rules! buffer_kinds {
    ($($kind:ident $code:literal $element_bytes:literal,)*) => {
        /// An `ArrayBuffer`, or the kind of a view of one. Each has the name of its constructor.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each is the class of that name")]
        pub enum BufferKind {
            #[default]
            $($kind,)*
        }

        impl BufferKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The name of the kind's constructor.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($kind),)*
                }
            }

            /// The size of one element in bytes; an object of the kind holds whole elements only.
            #[must_use]
            pub const fn element_bytes(self) -> usize {
                match self {
                    $(Self::$kind => $element_bytes,)*
                }
            }

            /// The byte that represents the kind in the codec.
            pub(super) const fn code(self) -> u8 {
                match self {
                    $(Self::$kind => $code,)*
                }
            }

            pub(super) const fn of_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$kind),)*
                    _ => None,
                }
            }
        }
    };
}

// The first kind is the default for bytes of unspecified kind.
buffer_kinds! {
    Uint8Array 0 1,
    ArrayBuffer 1 1,
    DataView 2 1,
    Int8Array 3 1,
    Uint8ClampedArray 4 1,
    Int16Array 5 2,
    Uint16Array 6 2,
    Int32Array 7 4,
    Uint32Array 8 4,
    Float16Array 9 2,
    Float32Array 10 4,
    Float64Array 11 8,
    BigInt64Array 12 8,
    BigUint64Array 13 8,
}

impl BufferKind {
    /// The kind whose constructor has that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}
