// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";

/// @notice A wallet with code that accepts the signatures of one key.
contract Wallet is IERC1271 {
    address private immutable _key;

    constructor(address key) {
        _key = key;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        (bytes32 r, bytes32 s, uint8 v) =
            (bytes32(signature[0:32]), bytes32(signature[32:64]), uint8(bytes1(signature[64:65])));
        return ecrecover(digest, v, r, s) == _key ? IERC1271.isValidSignature.selector : bytes4(0);
    }
}

/// @notice A contract without EIP-1271.
contract PlainWallet {}
