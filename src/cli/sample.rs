//! The content of the sample that the demo imports, as another implementation kept it.

/// Embeds files by their hash.
macro_rules! embedded {
    ($($hex:literal)+) => {
        &[$((
            concat!("sha256:", $hex),
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/sample/blobs/sha256-", $hex)),
        ),)+]
    };
}

/// Returns each piece of content, by its address, in the order of addresses.
///
/// What was shredded before the run ended, the answer of one turn and a note as it was for a while, is not among them.
pub(crate) fn contents() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    CONTENTS.iter().copied()
}

const CONTENTS: &[(&str, &[u8])] = embedded! {
    "016698dde1a088bf4ec9b3e301f995ffef4d0563453efbe954089907294bdcd7"
    "042523800305b76a52ce73c8a832bb93ffc3399d072575f1be5be054efd78935"
    "052ad6856ec96b2aaac467b46c08f75091ab79792a4d854dcea7fe76a51a3c56"
    "05ae2d31806150e7b35e94ba470b1a244e1154ea8883c8226ba7acaf82ab1543"
    "0a04f5032aa98e00f1db8d65a009f8c44373f22a6a9312c1898cd12ad3b89abf"
    "0b1fd3e90274cc35a452f9dbb0c6c8f101ba9dae9fbba2a7d8731fc590dc7147"
    "0e250aa76b12375cd90328b574f19d988f70a6c233e2b52cf06c8490f9be7bf0"
    "0eef5caa71d09a96b5cccf31fbfb4b186611fd7afc0e1f0b365964d84f1d6479"
    "0ef42b35674d53ac97249085a23e5b57d848b09b7aeed4f3ff82fb3fc022bc39"
    "1c330ba99e3d57e6a6de488f891098ff32fc8b716f453b68a04e6cded02832f9"
    "1cde0e6a5ad3bf28a562b76d1778f834c1a44815ac30f5ddbea843628abdaf41"
    "1ead6c14922c5cc4fc0b3df3bace8e66e6d4d5278781022ca973903fb4855a16"
    "23c30f4fd4b850126b3fb8a1b6c0a0b101e456ee4fab371f487d03501d73feb1"
    "249474ea6a088b61e61a80094c17aec83ff12d37d758bd9fc570bb517b636a94"
    "25a5e505f92e052980e246a91386be5f74120e03eb0ed5e704e0345ad0ef4b87"
    "29937e829595440bd8ac6d14f7cc1be8fb14852568a32ce6084c055ac310ac23"
    "2afbcc9a638f9726d6c1b9831635417484d5d4001b5dbc904503cb8cba25d2ad"
    "2b6005deda8134ef6df57b1a1394a4e37c65ec8a38ce9ac303a14489a86fd1f0"
    "2bf800f1616de698c9a640acf657b42fe3ddf7a0f77aa4f8f82c084f532cbe8d"
    "3697d16ad6b275bf730443f5e43dc9a6ceabd71ce95a958818ba76c1e6280e56"
    "3a32c7ae5c5dc73ddf9b5f2c69e3f9ed542945fc9761cd433bc1d7d8adcdc962"
    "3d408745f960abbeb82f1649419ddfc19e79222f73b4a93b11901c04502827c5"
    "3e918d2cd0c1204b68ccd6a50beb8f0ea62dbdbcc5b04d2f246e74219a15732c"
    "40671a019be5e6ee9d2ec2fc24ec620ec76c5431a73ebfc8bf00a6598acae993"
    "467fa2dc4769d46bfedfb4339ac30b73f76edab48268e4ae8744c9abf8f599cf"
    "46c9c282e83507f494a58dee60e4d4856d5380f10fca950c8629e230951740f5"
    "4e25f473fa8e6aa58d850dbb04a02e549b41001f721dca3c2ab51e503a4d2d59"
    "532ea04d1862a4ac96db53d782035f6e3331d2ab97c4907ce835d1cb2c39dbe7"
    "5418127b51447ed1b560e49e5169b7d424ae60e870d2fc25451974789e672de1"
    "58439960ac17c951b124cee8f5f03973e0d58f379b9044d9cdb02d4823261114"
    "63295f621b14191b0805945305ba48e2c5cbfb5b7f8045a448088e60bcea7dfb"
    "650155f53457b37ef85fd3029148eaf37544c5308d13f73c3f76cc42dbfdaa60"
    "6702f4872d11fb001edf2ebb57a904586394e3f68900ce1d3fecd7d832d2090b"
    "6715294e132874ebc59f4a2477d8b0e3414471a10d4adbee32d3e9d9e878795e"
    "671e75c4138111793447b558fbfe18f07ac40e0e49d3cadcf301e8ad85a020c9"
    "699973c378e406e55a628187ca45fc76d5d10728548e3f640edc408ed10f71ae"
    "6ab1313a9f9bc0b52764118033d5395997ed6d99bb8a05564769549a9dcd327b"
    "6cd895701d787024a60a95903da275b4b6fc8fe62fcd3cf2e6a1188c7a5a2a4b"
    "6cf01ebb028d6d1930a15227c62e120e666dae91e3f56d57539fbce9def61732"
    "6d306c883570179e987f265f27c5b9e36914910998a66659b4b3278fa1f6609a"
    "6f29be805af09a0b9c6648ce97aa788273eaa3f07d27aab1579dc3409873f2cf"
    "6f817b0c957f9a2466f2e2a663f8779b3991d373e552d2e331f492afcf5f52ed"
    "702e8e96fb41632a9f5230bf37acfef63f48356714ed1cf1add8a7285dc4031d"
    "754df08f36b56d266ec9bbff7aaf2ceb3ba88a6b1fb500ec8abd3b7e857c79f3"
    "7c5a1572cfda5bc515212fe9f49dc6b44bf262986b69b2d3786fdec2d847347e"
    "7d0f8a73398118054fb451022b126dc9ead4f2e7c2b4280fd702993dff8ed54e"
    "7dbedc6e5937a61a4531d9cc9ce5bc2e235527e0440c486ae2a477ac5c9d529d"
    "7fc0e8b866d356edb33a84a27d7001c84204c1118be630c9012494b5108e1aac"
    "80664e75003caac3705d92327e8447869ac6eec938f64e531287e553d8c9beff"
    "810701b71997200ea4313d26fca493d450f2273a4eae575645de35f1a8a796eb"
    "8516706e5921c1293191b5c0886176a2bd129e77dd4f41507a5d52af2da8705f"
    "86024ddee0b2b378298f8d14406bd2624cfa4e60ac7859633f6de03ce2cfd30a"
    "8de61002141056125ac02e27bde55feec2bf61913288c0920bd98350123035fa"
    "908be84805303c6e7d64c9457ace3b8b8e87c269126e432f92296bef09622af7"
    "92d95681efe033c1ddf5c6c13aff870f926a3fde0100e5a7c589777d30b67c7e"
    "93a0dac7dc7302c9c1b13bbce3fcab8ebe7e622154d7e42723c4ea0e987ade1f"
    "93a525f47c3d160c6298b84978ecea17d1bc82029c3ac6d3ae4d2d424d183e43"
    "969b550391f2dbc1e58872eae10be4e1fd08051a205e76c1b6b999221fef6e92"
    "9be72133252cae532c1ce6d77673c41ec4c088f201ad1d12d7fc33b6f6de679b"
    "9c4157b4af1676b6f53832871ca06508381a32f68ea4a7bd3311065a06c7fccf"
    "9c7de0865f7cbf0778802a20990a6fc1310b41e6f53c92b5332d5d06c49c680f"
    "9d3b01f765452c34c0f13ee40574dcaee8082670fd71d94a9232e841aa10f4ad"
    "9d66c23fa02be76e3e7c35dc4459c79530fdaa11f30623dab1a84d24aef91cd7"
    "9fe6e5fcb02edc0dd4356b7db48c59757cdea130d2cff8aad3b56651a48b5b9f"
    "a11c28000a69f911902c3caabb3b01f2b4d7b825d1d692cb9c106210fa2464b8"
    "a567162af4c6c02d0c29d47e51417b49855f0345578d0ddba988b8a4e7ac63b2"
    "a9ccadba62487985371bfacd57749a882b76893d19a500f4a6d6a79a4574cf86"
    "aeb94e3e5b7274b3fb25e6221ddc149d50e74c6e5e9e6315eb69903431ca2236"
    "b08b4c799af9c8b38a6cbbb57dd11631228ad2a1c97a2b845542caa356e9f8a1"
    "b120a8b3b6f22909fddc6d27b8cb37c9b5373bce988f4bb6eaedcbe0826f2681"
    "b1c8868828b15d1d98e6d79de44dc6ca508c7b3306acfa5a246427b468932919"
    "b30686a10b84692dcd4507f342a0944575c41536a45ace41beae11ee6c8d11cc"
    "b77f5ee6c7248751178704ffd8c01cabd0d61886c0010662740c406e55f6a781"
    "b7f4d7f1d0fc483257ebd8390e524fa1b9c0a760369b0b6248de8d16490d6210"
    "bb8ddcd11ba1138d93814922245cccfb46e8ea72957e9f26aaf0880dc1b48b00"
    "bd681f784f795e616887136a02adf9f16c0490358b6f3e6c13f15cf47a778e87"
    "be64c19df02614a537c47e3e868093b2a4d337c074352cd064556dfa0c0f0726"
    "bf547a26c9331f1b767b83d01320bb8d79ead30fb6e6c7e46a04c958b54d75d9"
    "c039d29046a47d153e1e3dc4d64710ca0ff2cdc94ee450ee637f4d6f1bf59f42"
    "c16b8b4b0a8ec0d512153c73573ffb7b19a5867edab0ce376f08c5ba679544c3"
    "cf3e6d49da7fa780f3738d391dcf5050e3c0ed2c75d8ad09cbb8aa75ae36ea36"
    "cfd792aa65cfcd12ff41d83ae0f238eb1e66a1602096dea77dd4186108ff1cfa"
    "d0830757712c85de719e05321f86f18b7c8e49f37256078d12897af9c33d4b8f"
    "d27b7f7fb7b7dea2646b53ca4942c2ed4de432b1a12cbe388127363fba30d7d8"
    "d3ea935c21fc0899f9b87153da7fab5c8ac594f0b54f518d2b981ca8a8a70278"
    "d51dc8bebd3e57fa13d76bd8bd6e53e7ac08a860afa111e97f630f01942a1756"
    "d669d2616c8520836d614ee23d0a4b9a6088f4f0daf68169640f102e50b55188"
    "db521dcbb926bce7b7093d5423a6b0c798d7197b9e7fef92016518fd8b097398"
    "df3554108506f81df62ba41b20fa37aa91cf112200163c7ebf6b9be5903bc875"
    "e20ec35e1180d63a6f5e7ae7450aa9af0f39f7294a1c9209dd48a617e184e303"
    "e4e86f35ed83efe5df1ebb1ac6ad14a6a6b9a3fbd20b83eb9218fd7441aca5a0"
    "e59de04859107003f44467244af0de4b5088c7699e9e6a5bc347a4f9b3d3f996"
    "eb7eab58958b06d9d7e14c0060f14a0af2a5f3bf5ccd720d1af93f76a1db164b"
    "ebe343a6800f240777adcd2f7f627c1b204e06ce1d02ce859ce34a8f255c21cc"
    "ed21b06e54be959e82b946dbbcbc1e96234ee7a9dfbab771e5d279d95d2f12b7"
    "ee065e5ed6f68074b184fbd0955c82561f5d871ab26e487f9791424951d8b9d6"
    "ee1b97cac91eac95028d266cf7348f8bd6f9c3a8dafd9f6dbafbbd152ede10e7"
    "eef4e2b0bb680988a695afcad55aa24b7120624e450721d5579382b90425f1f7"
    "f03e2cbd0c209454876f0a7088535b75a53cac20212a3802bea070352f13f330"
    "f0afba49cc37bb63f585a2ef56e0293450efbf68733e254b2d7bc09625beb9b1"
    "f1e396d65cd467499055771838aff35abca65da6a93d967130b4ab7eb64e3970"
    "f24339be5492b35011e7eee7681695f7d1b8310c3f8e58cc743f42d6619ff8c8"
    "f4f2caf63f1d9e5d582937c3fd2b5e3afb5b13811e61045b8a101bd473f183e0"
    "f556a9112b3a7de1c4a8aa311ffcb39a9a4ae587f2166d72683f61a7f9d88982"
    "f732653f40807b638e2695759d2344e5257b8df03c404417e8302394c33968e6"
    "f78e57a9cf6355ba18271fb51cec765c2f5a3c203810aa1e91d79f9983f81f3e"
    "fa9ad05ba6181308ce64fc643f0fa67767ceab8182735015690b770758c32a1d"
    "fb928f772c1acd6a9840180d43ea954284541647ac6ab4fcb2e37ed3092341e7"
    "fbaa9452fcea05fdbf422f3c78b5a273b123e25c2fd8a0c3db466c3183200ab0"
    "fc1c73c645d86f7674e6eefd8ebe20386ee61ea0996733a6ee732b1a3dc3da9f"
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use data_encoding::HEXLOWER;
    use serde_json::Value;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn each_hashes_to_its_address() {
        for (address, bytes) in contents() {
            assert_eq!(address, format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(bytes))));
        }
        assert_eq!(
            (contents().count(), contents().map(|(_, bytes)| bytes.len()).sum::<usize>()),
            (110, 22_115)
        );
        assert!(contents().is_sorted());
    }

    #[test]
    fn all_files_are_in_and_what_was_shredded_is_not() {
        let sample = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sample");
        let embedded: BTreeSet<String> = contents().map(|(address, _)| address.replace(':', "-")).collect();
        let files = std::fs::read_dir(sample.join("blobs")).unwrap();
        let names: BTreeSet<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(embedded, names);

        let expected = std::fs::read(sample.join("expected.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let shredded = expected["shredded"].as_array().unwrap();
        assert_eq!(shredded.len(), 2);
        for address in shredded {
            assert!(contents().all(|(held, _)| held != address.as_str().unwrap()), "{address}");
        }
    }
}
