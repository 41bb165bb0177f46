// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";

import {IPaymaster} from "../src/IPaymaster.sol";
import {Test} from "./Test.sol";

/// @notice Signs messages as a wallet does, for the domain that the token reports.
abstract contract Signer is Test {
    struct Signature {
        uint8 v;
        bytes32 r;
        bytes32 s;
    }

    bytes32 private constant _RECEIVE = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 private constant _CANCEL = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");
    bytes32 private constant _PERMIT =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");

    /// @dev An authorization that is valid at any time.
    function _signAuthorization(uint256 key, address to, IPaymaster.Deposit memory deposit, bytes32 nonce)
        internal
        view
        returns (Signature memory)
    {
        bytes32 message = keccak256(abi.encode(_RECEIVE, deposit.from, to, deposit.amount, 0, type(uint256).max, nonce));
        return _sign(key, IERC20Permit(deposit.token).DOMAIN_SEPARATOR(), message);
    }

    function _signCancellation(uint256 key, IPaymaster.Deposit memory deposit, bytes32 nonce)
        internal
        view
        returns (Signature memory)
    {
        bytes32 message = keccak256(abi.encode(_CANCEL, deposit.from, nonce));
        return _sign(key, IERC20Permit(deposit.token).DOMAIN_SEPARATOR(), message);
    }

    /// @dev A permit without a deadline.
    function _signPermit(uint256 key, address spender, IPaymaster.Deposit memory deposit, uint256 nonce)
        internal
        view
        returns (Signature memory)
    {
        return _signPermit(key, IERC20Permit(deposit.token).DOMAIN_SEPARATOR(), spender, deposit, nonce);
    }

    function _signPermit(uint256 key, bytes32 domain, address spender, IPaymaster.Deposit memory deposit, uint256 nonce)
        internal
        pure
        returns (Signature memory)
    {
        bytes32 message =
            keccak256(abi.encode(_PERMIT, deposit.from, spender, deposit.amount, nonce, type(uint256).max));
        return _sign(key, domain, message);
    }

    function _pack(Signature memory signature) internal pure returns (bytes memory) {
        return abi.encodePacked(signature.r, signature.s, signature.v);
    }

    function _sign(uint256 key, bytes32 domain, bytes32 message) private pure returns (Signature memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, keccak256(abi.encodePacked(hex"1901", domain, message)));
        return Signature(v, r, s);
    }
}
