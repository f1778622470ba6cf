//! Device permissions that an operator can allow.

use serde::Deserialize;

/// Permissions that let a page reach devices of this machine, its screen, or hosts of its network. Only the
/// operator allows them: `[policy] device_permissions` in the configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DevicePermission {
    /// Pictures of a camera.
    Camera,
    /// Sound of a microphone.
    Microphone,
    /// Where sound is played.
    Speakers,
    /// Pictures of the screen, of windows and of other tabs.
    ScreenCapture,
    /// Musical instruments, and whatever else speaks MIDI.
    Midi,
    /// Bluetooth devices: choosing one for a page.
    Bluetooth,
    /// Tags that are near.
    Nfc,
    /// Smart cards.
    SmartCard,
    /// Printers.
    Printing,
    /// Headsets and the tracking of hands.
    Xr,
    /// Hosts of the local network, and this machine's own.
    LocalNetwork,
}
