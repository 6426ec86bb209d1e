//! Makes code from the table of messages: [`super::Message`], [`super::feature`], and the checks
//! that each message has the parts that its role requires.

/// Defines all messages from rows `NUMBER VARIANT(TYPE), "NAME", ROLE[, FEATURE = BIT];`.
macro_rules! messages {
    ($(
        $(#[$doc:meta])+
        $number:literal $variant:ident($content:ty), $name:literal, $role:ident
        $(, $feature:ident = $bit:literal)?;
    )+) => {
        /// A decoded frame.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Message {
            $($(#[$doc])+ $variant($content),)+
        }

        impl Message {
            /// Returns the name of the message's kind.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Message::$variant(_) => <$content as Kind>::NAME,)+
                }
            }

            /// Encodes the message as a whole frame.
            pub fn encode(&self, id: u32) -> Vec<u8> {
                match self {
                    $(Message::$variant(message) => encode(message, id),)+
                }
            }

            /// Decodes a frame.
            ///
            /// # Errors
            /// Fails for anything that [`Message::encode`] does not write.
            pub fn decode(frame: Frame) -> Result<Message, BadFrame> {
                match frame.kind {
                    $($number => Body::decode(frame.body).map(Message::$variant),)+
                    kind => Err(BadFrame::Kind(kind)),
                }
            }

            /// Returns what a server does with the message.
            pub(crate) fn arrived(self) -> Arrived {
                match self {
                    $(Message::$variant(_message) => role!(arrived $role _message),)+
                }
            }

            /// Returns whether the message is part of the answer to a request.
            pub(crate) fn is_answer(&self) -> bool {
                match self {
                    $(Message::$variant(_) => role!(is_answer $role),)+
                }
            }
        }

        $(impl Kind for $content {
            const NUMBER: u8 = $number;
            const NAME: &'static str = $name;
            const FEATURE: u64 = 0 $(| 1 << $bit)?;
        })+

        /// Feature bits: requests that a server knows besides search, and messages that a client
        /// understands.
        pub mod feature {
            $($(
                #[doc = concat!("Knows the message `", $name, "`.")]
                pub const $feature: u64 = 1 << $bit;
            )?)+
            /// All features of this version.
            pub const ALL: u64 = 0 $($(| $feature)?)+;
        }

        // The rows are in the order of their numbers, without gaps, and so are the feature bits.
        const _: () = {
            let numbers: &[u8] = &[$($number),+];
            let mut at = 0;
            while at < numbers.len() {
                assert!(numbers[at] as usize == at + 1, "the numbers have gaps or repetitions");
                at += 1;
            }
            let bits: &[u32] = &[$($($bit,)?)+];
            assert!(feature::ALL == (1 << bits.len()) - 1, "feature bits have gaps or repetitions");
        };

        // Each request can be asked.
        const _: fn() = || {
            $(role!(asked $role $content);)+
        };

        /// Samples of all messages.
        #[cfg(test)]
        mod samples {
            use super::*;
            use proptest::strategy::{BoxedStrategy, Strategy, Union};

            /// Returns the example of each message.
            pub(in crate::messages) fn examples() -> Vec<Message> {
                vec![$(Message::$variant(<$content as Sample>::example())),+]
            }

            /// Returns messages of all kinds.
            pub(in crate::messages) fn any_message() -> Union<BoxedStrategy<Message>> {
                Union::new([$(
                    <$content as Sample>::any().prop_map(Message::$variant).boxed()
                ),+])
            }

            /// Decodes these bytes as the answer to each request.
            pub(in crate::messages) fn answer_all(bytes: &[u8]) {
                $(role!(answer $role $content, bytes);)+
            }
        }
    };
}

/// The code that [`messages!`] generates for the role of a message.
macro_rules! role {
    (arrived request $message:ident) => {
        Arrived::Request(Box::new($message))
    };
    (arrived stream $message:ident) => {
        Arrived::Request(Box::new($message))
    };
    (arrived about $message:ident) => {
        Arrived::About(Box::new($message))
    };
    (arrived answer $message:ident) => {
        Arrived::Unexpected
    };
    (arrived connection $message:ident) => {
        Arrived::Unexpected
    };

    (is_answer answer) => {
        true
    };
    (is_answer $other:ident) => {
        false
    };

    (asked request $content:ty) => {
        const {
            assert!(
                <$content as Kind>::FEATURE != 0,
                "a request needs a feature bit"
            )
        };
        let _ = crate::client::Remote::ask::<$content>;
    };
    (asked stream $content:ty) => {
        let _ = <$content as Open>::open;
    };
    (asked $other:ident $content:ty) => {};

    (answer request $content:ty, $bytes:ident) => {
        let _ = Ask::answer(&<$content as Sample>::example(), $bytes.to_vec());
    };
    (answer $other:ident $content:ty, $bytes:ident) => {};
}

pub(super) use {messages, role};
